package agenttest

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Reply answers the open question with a text.
func (r *Run) Reply(text string) *Run {
	r.t.Helper()
	return r.ReplyWith(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text)))
}

// ReplyWith answers the open question with a message, and names the question. While
// the task waits for authorization a message is kept and nothing runs: it
// authorizes nothing.
func (r *Run) ReplyWith(m *a2a.Message) *Run {
	r.t.Helper()
	r.settlePast()
	if r.pause == nil {
		r.fail("an open question to reply to")
	}
	own := *m
	own.ID = ""
	message := r.received(&own)
	r.entry(1)
	if r.pause.terms.Authorization {
		r.logf("caller", "writes %s", quoted(message))
		return r
	}
	r.logf("caller", "replies %s", quoted(message))
	r.message, r.pause, r.state = message, nil, a2a.TaskStateWorking
	return r
}

// Authorize presents a fresh, valid receipt for the action that the task waits for.
func (r *Run) Authorize() *Run {
	r.t.Helper()
	r.settlePast()
	if r.pause == nil || !r.pause.terms.Authorization {
		r.fail("an action to authorize")
	}
	r.entry(1)
	r.logf("caller", "authorizes %q", r.pause.terms.Action)
	r.pause, r.state = nil, a2a.TaskStateWorking
	return r
}

// Cancel cancels a task that waits: for a reply, an authorization, time or an
// operator. See CancelDuring for one that runs.
func (r *Run) Cancel() *Run {
	r.t.Helper()
	r.settle()
	if r.refused != nil || r.state.Terminal() {
		r.fail("a task to cancel")
	}
	r.logf("caller", "cancels")
	r.entry(1)
	r.end(a2a.TaskStateCanceled, "The task was canceled.", "cancellation requested")
	return r
}

// Expire lets the deadline of the open pause pass.
func (r *Run) Expire() *Run {
	r.t.Helper()
	r.settlePast()
	if r.pause == nil {
		r.fail("an open pause whose deadline can pass")
	}
	return r.Advance(r.pause.deadline.Sub(r.clock))
}

// Advance lets time pass: a sleep may end, a deadline may pass.
func (r *Run) Advance(d time.Duration) *Run {
	r.t.Helper()
	r.settle()
	r.clock = r.clock.Add(d)
	r.logf("clock", "moves on by %s", d)
	switch {
	case r.sleep != nil && !r.sleep.until.After(r.clock):
		r.wake()
	case r.pause != nil && !r.pause.deadline.After(r.clock):
		state := a2a.TaskStateFailed
		if r.pause.terms.Cancel {
			state = a2a.TaskStateCanceled
		}
		r.end(state, "Nobody answered before the deadline.", "pause-expired")
	}
	return r
}

// SettleDone lets an operator say that an effect in doubt was carried out, with
// its result.
func (r *Run) SettleDone(effect string, result any) *Run {
	r.t.Helper()
	e := r.heldEffect(effect)
	raw, err := json.Marshal(result)
	if err != nil {
		r.t.Fatalf("agenttest: the result cannot be stored: %v", err)
	}
	e.state, e.result = done, raw
	r.logf("operator", "settles %s as done: %s", effect, raw)
	return r
}

// SettleNotDone lets an operator say that an effect in doubt was not carried out:
// it will be called.
func (r *Run) SettleNotDone(effect string) *Run {
	r.t.Helper()
	r.heldEffect(effect).state = notDone
	r.logf("operator", "settles %s as not done", effect)
	return r
}

func (r *Run) heldEffect(name string) *effect {
	r.t.Helper()
	r.settlePast()
	e := r.effects[r.effectKey(name)]
	if r.held != name || e == nil {
		r.fail("effect " + name + " held for an operator")
	}
	r.held = ""
	return e
}
