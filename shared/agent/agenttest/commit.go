package agenttest

import (
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// reservedEntries are kept free below agent.MaxEntries for a cancellation and the
// end.
const reservedEntries = 8

// Verbs of a commit besides those of an agent.
const (
	verbSubStep agent.Verb = "sub-step"
	verbWait    agent.Verb = "wait"
	verbRetry   agent.Verb = "retry"
	verbFail    agent.Verb = "fail"
)

var (
	errCrashed  = errors.New("the process is gone")
	errCanceled = errors.New("a cancellation was requested")
	errEnded    = errors.New("the task has ended")
)

// Reasons for which the rules of a task refuse a commit. An error's text begins
// with one, as in production.
const (
	limitReached       = "limit-reached"
	unknownArtifact    = "unknown-artifact"
	openArtifact       = "open-artifact"
	illegalTransition  = "illegal-transition"
	conflictingContent = "conflicting-content"
)

func refuse(reason, format string, args ...any) error {
	return fmt.Errorf("%s: %s", reason, fmt.Sprintf(format, args...))
}

// commit is one write: everything in it, or nothing.
type commit struct {
	agent.Move
	until  time.Time // verbWait, verbRetry
	held   string    // verbWait: the effect that an operator must settle
	note   string    // for the transcript
	reason string    // verbFail
	text   string    // verbFail
}

func (c commit) ends() bool {
	return c.Verb == agent.VerbComplete || c.Verb == agent.VerbReject || c.Verb == verbFail
}

// write commits, unless a fault, a cancellation or a rule is in the way.
func (r *Run) write(c commit) error {
	step := r.step
	if r.crashes(beforeCommit, step) {
		return errCrashed
	}
	if r.cancel && !c.ends() {
		r.end(a2a.TaskStateCanceled, "The task was canceled.", "cancellation requested")
		return errEnded
	}
	if r.entries+len(c.Updates)+2 > agent.MaxEntries-reservedEntries && !c.ends() {
		r.end(a2a.TaskStateFailed, "The task reached its limit of entries.", "entry limit")
		return errEnded
	}
	arts, err := r.artifacts.with(c.Updates)
	if err != nil {
		return agent.Permanent(err)
	}
	if c.Verb == agent.VerbComplete {
		if id, open := arts.open(); open {
			return agent.Permanent(refuse(openArtifact, "artifact %q is open: seal it with a last chunk before completing", id))
		}
	}
	if c.Verb == agent.VerbPause {
		if err := checkTerms(*c.Pause); err != nil {
			return agent.Permanent(err)
		}
	}
	if err := r.apply(c, arts); err != nil {
		return agent.Permanent(err)
	}
	if r.crashes(afterCommit, step) {
		return errCrashed
	}
	return nil
}

func checkTerms(p agent.PauseTerms) error {
	switch {
	case p.Timeout < 0 || p.Timeout > agent.MaxPause:
		return refuse(limitReached, "a pause lasts at most %s", agent.MaxPause)
	case p.Authorization && p.Action == "":
		return refuse(illegalTransition, "a pause for authorization names the action to be authorized")
	}
	return nil
}

// apply is the commit itself.
func (r *Run) apply(c commit, arts artifacts) error {
	message, err := r.stored(c.Message)
	if err != nil {
		return err
	}
	for _, u := range c.Updates {
		if u.Message == nil {
			continue
		}
		m, err := r.stored(u.Message)
		if err != nil {
			return err
		}
		r.reports = append(r.reports, m)
		r.logf(r.step, "reports %s", quoted(m))
	}
	r.artifacts = arts
	for _, u := range c.Updates {
		if u.Chunk != nil {
			r.logf(r.step, "%s", tell(*u.Chunk))
		}
	}
	r.entry(max(len(c.Updates), 1))
	switch c.Verb {
	case verbSubStep:
		r.saved = c.State
		r.logf(r.step, "commits a sub-step")
	case agent.VerbContinue:
		r.logf(r.step, "continues with %s", c.Step)
		r.moveOn(c)
	case agent.VerbPause:
		p := *c.Pause
		if p.Timeout == 0 {
			p.Timeout = agent.DefaultPause
		}
		from := r.step
		r.moveOn(c)
		r.entry(1)
		r.pauses++
		r.pause = &pause{number: r.pauses, question: message, terms: p, deadline: r.clock.Add(p.Timeout)}
		r.state = a2a.TaskStateInputRequired
		if p.Authorization {
			r.state = a2a.TaskStateAuthRequired
		}
		r.leased = false
		r.logf(from, "%s", r.told(quoted))
	case agent.VerbSleep:
		from := r.step
		r.moveOn(c)
		r.sleep = &sleep{length: c.Delay, until: r.clock.Add(c.Delay)}
		r.leased = false
		r.logf(from, "%s", r.situation())
	case verbRetry, verbWait:
		if c.Verb == verbRetry {
			r.failed++
		}
		if c.until.After(r.clock) {
			r.clock = c.until
		}
		r.held, r.leased = c.held, false
		r.logf(r.step, "%s", c.note)
	case agent.VerbComplete:
		r.end(a2a.TaskStateCompleted, agent.Text(message), "")
	case agent.VerbReject:
		r.end(a2a.TaskStateRejected, agent.Text(message), "")
	case verbFail:
		r.end(a2a.TaskStateFailed, c.text, c.reason)
	}
	return nil
}

// moveOn goes to the next step, as a new visit.
func (r *Run) moveOn(c commit) {
	r.saved, r.step, r.failed = c.State, c.Step, 0
	r.visit++
}
