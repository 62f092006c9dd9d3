package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Decision is what a command does. Its events become entries in this order and
// in one commit; After is the head with everything that is not folded from them.
type Decision struct {
	Events []Event
	After  Head
	// Mark is a cancellation for the holder to meet. It is written by itself,
	// guarded by the fence and not by the sequence, so that a busy holder cannot
	// starve it.
	Mark *CancelMark
	// Answered is the pause that a reply, a receipt or an end has closed, 0 for
	// none: an execution that is parked on it must be told.
	Answered int
	// Repeats is what a report brought again, when it brought nothing else: the first of
	// its chunks, which all stand at their coordinates already.
	Repeats *There
}

// Decide says what a command does to a task at an instant, or why it is not
// allowed. The order of the checks is the same for all: has the task ended, does
// the fence match, is it the producer's turn, has time ended something, does the
// table allow the move.
//
// A *Rejection may come with events: they are committed before the rejection is
// answered.
func Decide(t Task, cmd Command, now time.Time) (Decision, error) {
	now = Millis(now)
	if c, ok := cmd.(Submit); ok {
		return decideSubmit(t, c, now)
	}
	if t.Seq == 0 {
		return Decision{}, reject(IllegalTransition, "the task does not exist")
	}
	if t.Terminal() {
		return Decision{}, reject(PostTerminal, "the task has ended as %s", t.State)
	}
	if len(t.Arts) < t.Artifacts {
		return Decision{}, fmt.Errorf("task %s has %d artifacts, and %d were loaded with it", t.Task, t.Artifacts, len(t.Arts))
	}
	switch c := cmd.(type) {
	case Grant:
		return decideGrant(t, c, now)
	case Renew:
		return decideRenew(t, c, now)
	case Release:
		return decideRelease(t, c, now)
	case Report:
		return decideReport(t, c, now)
	case Reply:
		return decideReply(t, c, now)
	case Authorize:
		return decideAuthorize(t, c, now)
	case RequestCancel:
		return decideCancel(t, c, now)
	case Expire:
		return decideExpire(t, now)
	case Restart:
		return decideRestart(t, c, now)
	case Leave:
		return decideLeave(t, now)
	case Abandon:
		return end(t, Failed, c.Reason, agentText("The task could not be brought forward: "+c.Reason))
	default:
		return Decision{}, reject(IllegalTransition, "unknown command %T", cmd)
	}
}

func decideSubmit(t Task, c Submit, now time.Time) (Decision, error) {
	if t.Seq != 0 {
		return Decision{}, reject(IllegalTransition, "the task exists already")
	}
	if r := c.check(); r != nil {
		return Decision{}, r
	}
	after := t.Head
	after.Generation = 1
	after.DueAt = now.Add(c.Policy.Grace)
	return Decision{After: after, Events: []Event{{
		Type: TypeSubmitted, State: Submitted, Message: c.Message,
		Submission: &Submission{
			ContextID: c.ContextID, Agent: c.Agent, AgentVersion: c.AgentVersion, Step: c.Step,
			Principal: c.Principal, Policy: c.Policy.Version, LifeEndsAt: Millis(now.Add(c.Policy.Life)),
			RetainSeconds: int64(c.Policy.Retention / time.Second), RequestDigest: c.RequestDigest, Terms: c.Policy.Terms,
		},
	}}}, nil
}

// check holds a submission against the limits of what the head carries.
func (c Submit) check() *Rejection {
	if c.Message == nil {
		return reject(InvalidContent, "a submission without a message")
	}
	if r := c.Policy.check(); r != nil {
		return r
	}
	if r := checkNames(MaxIDBytes, "a contextId", c.ContextID, "a principal's hash", c.Principal); r != nil {
		return r
	}
	if r := checkNames(MaxNameBytes, "an agent's name", c.Agent, "a step's name", c.Step); r != nil {
		return r
	}
	return checkMessage(c.Message)
}

func decideReply(t Task, c Reply, now time.Time) (Decision, error) {
	if d, err := overdue(t, now); err != nil {
		return d, err
	}
	if d, err := unmet(t); err != nil {
		return d, err
	}
	if c.Message == nil {
		return Decision{}, reject(InvalidContent, "a reply without a message")
	}
	if r := checkMessage(c.Message); r != nil {
		return Decision{}, r
	}
	if c.Pause != nil && t.Pause != nil && *c.Pause != t.Pause.Number {
		return Decision{}, reject(PauseMismatch, "the reply names pause %d, open is pause %d", *c.Pause, t.Pause.Number)
	}
	switch t.State {
	case AuthRequired:
		if int(t.Seq)+1 > MaxEntries-reservedEntries {
			return Decision{}, reject(LimitReached, "the task has %d entries and takes no more messages", t.Seq)
		}
		// A message is no authorization (I12): it is kept, and nothing runs.
		return Decision{After: t.Head, Events: []Event{{Type: TypeMessage, Message: c.Message}}}, nil
	case InputRequired:
	default:
		return Decision{}, reject(IllegalTransition, "the task is in %s and waits for no message", t.State)
	}
	p := t.Pause
	if c.Pause == nil && p.Named {
		return Decision{}, reject(PauseMismatch, "this question must be answered by name: set pause to %d", p.Number)
	}
	after := t.Head
	after.DueAt = now.Add(c.Grace)
	return Decision{After: after, Answered: p.Number, Events: []Event{{Type: TypeReply, State: Working, Message: c.Message}}}, nil
}

func decideAuthorize(t Task, c Authorize, now time.Time) (Decision, error) {
	if d, err := overdue(t, now); err != nil {
		return d, err
	}
	if d, err := unmet(t); err != nil {
		return d, err
	}
	if t.State != AuthRequired || t.Challenge == nil {
		return Decision{}, reject(ReceiptInvalid, "the task waits for no authorization")
	}
	if c.Receipt.Challenge != t.Challenge.Number {
		return Decision{}, reject(ReceiptInvalid, "the receipt answers challenge %d, open is challenge %d", c.Receipt.Challenge, t.Challenge.Number)
	}
	after := t.Head
	after.DueAt = now.Add(c.Grace)
	receipt := c.Receipt
	return Decision{After: after, Answered: t.Pause.Number, Events: []Event{{Type: TypeAuthorized, State: Working, Receipt: &receipt}}}, nil
}

func decideCancel(t Task, c RequestCancel, now time.Time) (Decision, error) {
	mark := CancelMark{Principal: c.Principal, At: now}
	if t.Cancel != nil {
		mark = *t.Cancel // the same request again has no further effect
	}
	if t.Leased(now) {
		return Decision{After: t.Head, Mark: &mark}, nil
	}
	return canceled(t, mark)
}

// canceled settles a request to cancel: the request and the end, as one.
func canceled(t Task, mark CancelMark) (Decision, error) {
	t.Cancel = &mark
	return end(t, Canceled, "cancellation requested", agentText("The task was canceled."))
}

func decideExpire(t Task, now time.Time) (Decision, error) {
	d, err := overdue(t, now)
	if err == nil {
		d, err = unmet(t)
	}
	switch {
	case err == nil:
		return Decision{}, reject(NotDue, "no deadline has passed")
	case len(d.Events) == 0:
		return Decision{}, err
	}
	return d, nil
}

// overdue commits what time has ended: the rejection comes with the events that
// end the task. It returns nil when nothing is overdue.
func overdue(t Task, now time.Time) (Decision, error) {
	var d Decision
	var err error
	var r *Rejection
	switch {
	case t.Pause != nil && !now.Before(t.Pause.DeadlineAt):
		r = reject(PauseExpired, "the deadline of pause %d was %s", t.Pause.Number, t.Pause.DeadlineAt.Format(time.RFC3339))
		d, err = end(t, t.Pause.Outcome, string(PauseExpired), agentText("Nobody answered before the deadline."))
	case !now.Before(t.LifeEndsAt):
		r = reject(PostTerminal, "the task's longest life ended at %s", t.LifeEndsAt.Format(time.RFC3339))
		d, err = end(t, Failed, "longest life", agentText("The task reached the end of its longest life."))
	default:
		return Decision{}, nil
	}
	if err != nil {
		return Decision{}, err
	}
	return d, r
}

// unmet settles a cancellation that was put on the head of a task just after its
// holder had paused it: nobody will meet it any more, so it is decided by whoever
// comes first. Like overdue, it returns nil when there is none.
func unmet(t Task) (Decision, error) {
	if t.Cancel == nil || !Interrupted(t.State) {
		return Decision{}, nil
	}
	d, err := canceled(t, *t.Cancel)
	if err != nil {
		return Decision{}, err
	}
	return d, reject(PostTerminal, "the task was canceled")
}

func decideRestart(t Task, c Restart, now time.Time) (Decision, error) {
	if c.Generation != 0 && c.Generation != t.Generation {
		return Decision{}, reject(Superseded, "the task is at generation %d already", t.Generation)
	}
	if Interrupted(t.State) {
		return Decision{}, reject(NotDue, "the task is in %s; its pause is open", t.State)
	}
	if t.Leased(now) && !c.HolderGone {
		return Decision{}, reject(LeaseHeld, "%s holds the lease until %s", t.Holder, t.LeaseUntil.Format(time.RFC3339Nano))
	}
	if t.Cancel != nil { // whoever was to meet it is gone
		return canceled(t, *t.Cancel)
	}
	var events []Event
	waits := t.NextAt.After(now)
	if waits && c.EndWait {
		if t.CheckpointSeq == t.Seq { // only a sleep moves on and waits in one entry
			return Decision{}, reject(NotDue, "the task sleeps until %s, as its agent asked", t.NextAt.Format(time.RFC3339))
		}
		if int(t.Seq)+1 > MaxEntries-reservedEntries {
			return Decision{}, reject(LimitReached, "the task has %d entries", t.Seq)
		}
		events = []Event{{Type: TypeWaiting, Wait: &Wait{Until: now, Attempt: t.Attempt, Reason: "an operator ended the wait"}}}
		waits = false
	}
	after := t.Head
	after.free()
	after.Generation++
	wait := c.Grace
	switch {
	case c.HolderGone: // a new process proves nothing about the one before
		after.Untaken = 0
	case t.Turns == 0:
		wait = untakenWait(c.Grace, t.Untaken)
		after.Untaken++
	}
	after.Turns = 0
	after.DueAt = now.Add(wait)
	if waits {
		after.DueAt = earlier(t.NextAt.Add(c.Grace), t.LifeEndsAt)
	}
	return Decision{After: after, Events: events}, nil
}

// untakenWait is the grace of a generation behind so many that nobody took.
func untakenWait(grace time.Duration, untaken int) time.Duration {
	for range untaken {
		if grace *= 2; grace >= MaxUntakenWait {
			return MaxUntakenWait
		}
	}
	return grace
}

// end is the terminal event, with the manifest that it closes. A cancellation
// that was requested stands in the history before it, however the task ends.
func end(t Task, state a2a.TaskState, reason string, msg *a2a.Message) (Decision, error) {
	if r := mayMove(t.State, state, false); r != nil {
		return Decision{}, r
	}
	items := Manifest(t.Arts)
	digest, err := manifestDigest(items)
	if err != nil {
		return Decision{}, err
	}
	after := t.Head
	after.free()
	after.DueAt = time.Time{}
	after.Cancel = nil
	d := Decision{After: after}
	if t.Cancel != nil {
		mark := *t.Cancel
		d.Events = append(d.Events, Event{Type: TypeCancelRequested, Cancel: &mark})
	}
	d.Events = append(d.Events, Event{
		Type: TypeEnded, State: state, Message: msg,
		Ending: &Ending{Reason: clip(reason), Manifest: items, ManifestDigest: digest},
	})
	if t.Pause != nil {
		d.Answered = t.Pause.Number
	}
	return d, nil
}

func agentText(text string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// clip cuts a text to what is kept of it.
func clip(s string) string { return Clip(s, MaxReasonBytes) }

// Clip cuts a text to a number of bytes. What is cut is not left half a character.
func Clip(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
