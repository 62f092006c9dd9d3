package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// How far an effect is.
const (
	intended = "intended" // in doubt once its call must be over
	done     = "done"
	notDone  = "not done"
	inDoubt  = "in doubt"
)

// effect is the record of an outside call.
type effect struct {
	name, key string
	state     string
	policy    agent.Policy
	request   json.RawMessage
	callUntil time.Time
	result    json.RawMessage
	revision  uint64
}

func (r *Run) effectKey(name string) string { return fmt.Sprintf("%s:%d:%s", TaskID, r.visit, name) }

// beginEffect says what to do about an effect of the current visit.
func (r *Run) beginEffect(start agent.EffectStart) (agent.Ticket, error) {
	key := r.effectKey(start.Name)
	until := r.clock.Add(min(start.Timeout, r.agent.Timeout(r.step)))
	e := r.effects[key]
	ticket := agent.Ticket{Name: start.Name, Key: key, CallUntil: until}
	switch {
	case e == nil:
		e = &effect{name: start.Name, key: key, policy: start.Policy, request: start.Request}
		r.effects[key] = e
		return r.call(e, ticket)
	case !bytes.Equal(e.request, start.Request):
		return ticket, agent.Permanent(refuse(conflictingContent, "effect %q of visit %d was begun with another request: %s, now %s", start.Name, r.visit, e.request, start.Request))
	case e.state == done:
		r.logf(r.step, "finds %s recorded: %s", e.name, e.result)
		ticket.Act, ticket.Result = agent.EffectRecorded, e.result
		return ticket, nil
	case e.state == notDone:
		return r.call(e, ticket)
	case e.state == intended && e.callUntil.After(r.clock):
		return ticket, &agent.InDoubt{Effect: e.name, Until: e.callUntil}
	case e.policy == agent.PolicyRetry:
		return r.call(e, ticket)
	case e.policy == agent.PolicyReconcile:
		r.logf(r.step, "asks what became of %s", e.name)
		ticket.Act, ticket.Revision = agent.EffectAsk, e.revision
		return ticket, nil
	}
	return ticket, &agent.InDoubt{Effect: e.name, Held: true}
}

// call records the intent; then the step makes the call.
func (r *Run) call(e *effect, ticket agent.Ticket) (agent.Ticket, error) {
	e.state, e.callUntil = intended, ticket.CallUntil
	e.revision++
	ticket.Act, ticket.Revision = agent.EffectCall, e.revision
	if r.crashes(beforeCall, e.name) {
		return ticket, errCrashed
	}
	if f := r.take(failCall, e.name); f != nil {
		e.state = notDone
		r.logf(r.step, "fails to call %s: %v", e.name, f.err)
		return ticket, agent.NotDone(f.err)
	}
	r.calls[e.name]++
	r.logf(r.step, "calls %s", e.name)
	return ticket, nil
}

// endEffect records what became of a call, or what a question about it brought.
func (r *Run) endEffect(end agent.EffectEnd) error {
	own := end.Ticket.Act == agent.EffectCall
	e := r.effects[end.Ticket.Key]
	switch {
	case e == nil:
		return agent.Permanent(fmt.Errorf("effect %q was never begun", end.Ticket.Name))
	case own && r.crashes(afterCall, e.name):
		return errCrashed
	case e.state == done:
		return nil
	case own && end.Kind == agent.EndDone:
		if f := r.take(loseAnswer, e.name); f != nil {
			e.state = inDoubt
			r.logf(r.step, "loses the answer of %s: %v", e.name, f.err)
			return f.err
		}
	}
	e.revision++
	switch end.Kind {
	case agent.EndDone:
		e.state, e.result = done, end.Result
		r.logf(r.step, "records %s: %s", e.name, end.Result)
	case agent.EndNotDone:
		e.state = notDone
		r.logf(r.step, "learns that %s was not done", e.name)
	case agent.EndInDoubt:
		e.state = inDoubt
		r.logf(r.step, "cannot tell what became of %s", e.name)
	}
	if r.crashes(afterRecord, e.name) {
		return errCrashed
	}
	return nil
}
