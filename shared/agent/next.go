package agent

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Verb is what comes after a step.
type Verb string

// Verbs. Agents use the constructors below.
const (
	VerbContinue Verb = "continue"
	VerbPause    Verb = "pause"
	VerbSleep    Verb = "sleep"
	VerbComplete Verb = "complete"
	VerbReject   Verb = "reject"
)

// goesOn says whether a step follows.
func (v Verb) goesOn() bool { return v == VerbContinue || v == VerbPause || v == VerbSleep }

// Next says what comes after a step. Its zero value is no answer: a step must
// return one of the constructors' or an error.
type Next struct {
	verb    Verb
	step    string
	message *a2a.Message
	pause   *PauseTerms
	delay   time.Duration
}

// PauseTerms are the terms of a pause.
type PauseTerms struct {
	Authorization bool          // waits for an authorization receipt, not for input
	Timeout       time.Duration // 0: DefaultPause
	Cancel        bool          // at the deadline the task is canceled, not failed
	Named         bool          // replies must name the pause
	Action        string        // what is to be authorized
	Audience      string        // by whom
}

// PauseOption changes the terms of a pause.
type PauseOption func(*PauseTerms)

// For sets the deadline: so long from the commit of the pause, at most MaxPause.
func For(d time.Duration) PauseOption { return func(p *PauseTerms) { p.Timeout = d } }

// OrCancel cancels the task at the deadline; without it the task fails.
func OrCancel() PauseOption { return func(p *PauseTerms) { p.Cancel = true } }

// ByName demands that a reply names the pause that it answers, so that an answer
// to an earlier question cannot be taken for one to this. Use it for every
// question with consequences.
func ByName() PauseOption { return func(p *PauseTerms) { p.Named = true } }

// By names who may authorize: the audience of the authorization receipt.
func By(audience string) PauseOption { return func(p *PauseTerms) { p.Audience = audience } }

// Continue goes on with another step (or the same one again, as a new visit).
func Continue(step string) Next { return Next{verb: VerbContinue, step: step} }

// Pause asks a question and waits for a reply. The next step finds the reply in
// Task.Message. Waiting costs nothing, however long.
func Pause(question, next string, opts ...PauseOption) Next {
	return PauseWith(Say(question), next, opts...)
}

// PauseWith is Pause with a whole message.
func PauseWith(question *a2a.Message, next string, opts ...PauseOption) Next {
	p := &PauseTerms{}
	for _, o := range opts {
		o(p)
	}
	return Next{verb: VerbPause, step: next, message: question, pause: p}
}

// Authorize waits for an authorization receipt for an action. The next step runs
// only after a fresh, valid receipt was presented; the state authorizes nothing.
func Authorize(action, question, next string, opts ...PauseOption) Next {
	n := PauseWith(Say(question), next, opts...)
	n.pause.Authorization, n.pause.Action = true, action
	return n
}

// Sleep waits for time alone and goes on with a step.
func Sleep(d time.Duration, next string) Next { return Next{verb: VerbSleep, step: next, delay: d} }

// Complete ends the task as completed. Results belong into artifacts; the text is
// the closing status message, an empty one means none.
func Complete(text string) Next { return closing(VerbComplete, text) }

// Reject ends the task as rejected: the agent declines the work.
func Reject(text string) Next { return closing(VerbReject, text) }

func closing(v Verb, text string) Next {
	if text == "" {
		return Next{verb: v}
	}
	return Next{verb: v, message: Say(text)}
}
