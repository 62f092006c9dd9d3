package lifecycle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// EffectState is how far an effect is.
type EffectState string

// Effect states. Begun and not recorded is in doubt: an intended effect whose
// caller is gone is settled by its policy, never by hope (I7).
const (
	EffectIntended EffectState = "intended" // recorded before the call; in doubt once its caller is gone
	EffectDone     EffectState = "done"     // the result is recorded; never called again
	EffectFailed   EffectState = "failed"   // the call said that it did nothing; may be called again
	EffectInDoubt  EffectState = "in-doubt" // the call came back without an answer
)

// EffectPolicy says how an effect in doubt is settled.
type EffectPolicy string

// Effect policies.
const (
	// PolicyRetry calls again with the same key: the other side honours it.
	PolicyRetry EffectPolicy = "retry"
	// PolicyReconcile asks the other side what became of the call.
	PolicyReconcile EffectPolicy = "reconcile"
	// PolicyHold leaves it to an operator.
	PolicyHold EffectPolicy = "hold"
)

// Effect is the record of a named outside call.
type Effect struct {
	Visit         uint64          `json:"visit"`
	Name          string          `json:"name"`
	Key           string          `json:"key"` // handed to the other side
	State         EffectState     `json:"state"`
	Policy        EffectPolicy    `json:"policy"`
	RequestDigest Digest          `json:"requestDigest"`
	Holder        string          `json:"holder"`
	Fence         uint64          `json:"fence"` // of the lease that intended it
	IntendedAt    time.Time       `json:"intendedAt"`
	CallUntil     time.Time       `json:"callUntil"` // no call is begun, nor goes on, after it
	Calls         int             `json:"calls"`
	Result        json.RawMessage `json:"result,omitempty"`
	SettledAt     time.Time       `json:"settledAt,omitzero"`
	// Evidence says how it was settled: its own call, a reconciliation, an operator.
	Evidence string `json:"evidence,omitempty"`
	// Revision is raised by each write and guards the next one.
	Revision uint64 `json:"revision"`
}

// EffectKey is the key of an effect: stable over reruns of the visit, different
// for every other visit.
func EffectKey(task a2a.TaskID, visit uint64, name string) string {
	return fmt.Sprintf("%s:%d:%s", task, visit, name)
}

// EffectRequest is what a step asks for.
type EffectRequest struct {
	Visit         uint64
	Name          string
	Policy        EffectPolicy
	RequestDigest Digest
	Holder        string
	Fence         uint64
	CallUntil     time.Time
	// DeadBefore is proof that callers which intended anything before it are gone,
	// zero where there is none.
	DeadBefore time.Time
}

// EffectAct is what is to be done about an effect.
type EffectAct string

// What to do about an effect.
const (
	ActCall      EffectAct = "call"      // record the intent, then call
	ActReturn    EffectAct = "return"    // the recorded result is the answer
	ActReconcile EffectAct = "reconcile" // ask the other side, then settle
	ActWait      EffectAct = "wait"      // its caller may still be calling; look again at callUntil
	ActHold      EffectAct = "hold"      // an operator must settle it
)

// EffectDecision is the answer to an EffectRequest.
type EffectDecision struct {
	Act EffectAct
	// Next is the record to write before a call (ActCall), or the record as it is.
	// Its revision is what SettleCall asks for.
	Next Effect
	// WaitUntil is set with ActWait.
	WaitUntil time.Time
}

// DecideEffect says what to do about an effect. prev is its record, nil when it
// was never begun.
func DecideEffect(task a2a.TaskID, prev *Effect, req EffectRequest, now time.Time) (EffectDecision, error) {
	if req.Name == "" || len(req.Name) > MaxNameBytes {
		return EffectDecision{}, reject(LimitReached, "an effect's name has 1 to %d bytes", MaxNameBytes)
	}
	if prev != nil && prev.RequestDigest != req.RequestDigest {
		return EffectDecision{}, reject(ConflictingContent, "effect %q of visit %d was begun with another request", req.Name, req.Visit)
	}
	if prev != nil && prev.State == EffectDone {
		return EffectDecision{Act: ActReturn, Next: *prev}, nil // needs no time, and no lease
	}
	if !req.CallUntil.After(now) {
		return EffectDecision{}, reject(NotDue, "no time is left to call effect %q", req.Name)
	}
	next := Effect{
		Visit: req.Visit, Name: req.Name, Key: EffectKey(task, req.Visit, req.Name), State: EffectIntended,
		Policy: req.Policy, RequestDigest: req.RequestDigest, Holder: req.Holder, Fence: req.Fence,
		IntendedAt: Millis(now), CallUntil: Millis(req.CallUntil), Calls: 1, Revision: 1,
	}
	if prev == nil {
		return EffectDecision{Act: ActCall, Next: next}, nil
	}
	next.Calls, next.Revision = prev.Calls+1, prev.Revision+1
	if prev.State == EffectFailed {
		return EffectDecision{Act: ActCall, Next: next}, nil
	}
	gone := !prev.CallUntil.After(now) || prev.IntendedAt.Before(req.DeadBefore) || prev.State == EffectInDoubt
	if !gone {
		return EffectDecision{Act: ActWait, Next: *prev, WaitUntil: prev.CallUntil}, nil
	}
	switch prev.Policy {
	case PolicyRetry:
		return EffectDecision{Act: ActCall, Next: next}, nil
	case PolicyReconcile:
		return EffectDecision{Act: ActReconcile, Next: *prev}, nil
	default:
		return EffectDecision{Act: ActHold, Next: *prev}, nil
	}
}

// Out says whether somebody may be calling: an operator who asks the other side now
// learns nothing that lasts. A step that runs again asks DecideEffect: by then its
// caller's invocation is over, or its lease has been for a grace.
func (e Effect) Out(now time.Time) bool {
	return e.State == EffectIntended && now.Before(e.OutUntil())
}

// Doubtful says whether nobody knows what became of the effect, and since when: a call
// said so, or its caller said nothing.
func (e Effect) Doubtful(now time.Time) (since time.Time, is bool) {
	switch {
	case e.State == EffectInDoubt:
		return e.SettledAt, true
	case e.State == EffectIntended && !e.Out(now):
		return e.OutUntil(), true
	}
	return time.Time{}, false
}

// OutUntil is when the call of an intended effect is over by everybody's clock.
func (e Effect) OutUntil() time.Time { return e.CallUntil.Add(ClockMargin) }

// SettleCall records what became of a call, or of the question that reconciled
// one, which was begun at a revision of the record (EffectDecision.Next). That it
// was done counts always. That nothing was done, or that nobody knows, is said of
// that call alone: when the record has moved on, another call may be out, and
// nothing changes. Otherwise a late answer to an old call would free an effect
// whose newer call has acted.
func SettleCall(prev Effect, begun uint64, state EffectState, result json.RawMessage, evidence string, now time.Time) (Effect, error) {
	if state != EffectDone && prev.Revision != begun {
		return prev, nil
	}
	return SettleEffect(prev, state, result, evidence, now)
}

// SettleDoubt records what an operator has found out about an effect that is in
// doubt: that it was done, with its result, or that nothing was done, so that it is
// called again. It is said of the record that the operator has seen: while a call may
// be out, and once somebody knows, there is nothing to say.
func SettleDoubt(prev Effect, state EffectState, result json.RawMessage, evidence string, now time.Time) (Effect, error) {
	switch {
	case prev.State != EffectInDoubt && prev.State != EffectIntended:
		return prev, reject(IllegalTransition, "effect %q is %s: nothing about it is in doubt", prev.Name, prev.State)
	case prev.Out(now):
		return prev, reject(NotDue, "effect %q may be called until %s", prev.Name, prev.OutUntil().Format(time.RFC3339))
	case state != EffectDone && state != EffectFailed:
		return prev, reject(IllegalTransition, "an operator settles an effect as done or as failed, not as %q", state)
	case state == EffectDone && !json.Valid(result):
		return prev, reject(InvalidContent, "the result of effect %q is what its step goes on with: it must be JSON", prev.Name)
	case state == EffectFailed:
		result = nil
	}
	return SettleEffect(prev, state, result, evidence, now)
}

// SettleEffect records what became of an effect. The result of a call is
// accepted without the fence, for the call has happened; a recorded success is
// never overwritten. A second, different result is a ConflictingContent
// rejection, which the ledger keeps as an incident.
func SettleEffect(prev Effect, state EffectState, result json.RawMessage, evidence string, now time.Time) (Effect, error) {
	if state != EffectDone && state != EffectFailed && state != EffectInDoubt {
		return prev, reject(IllegalTransition, "an effect is not settled as %q", state)
	}
	if len(result) > MaxEffectResultBytes {
		return prev, reject(LimitReached, "the result of effect %q has %d bytes, the limit is %d", prev.Name, len(result), MaxEffectResultBytes)
	}
	if prev.State == EffectDone {
		if state == EffectDone && string(prev.Result) != string(result) {
			return prev, reject(ConflictingContent, "effect %q has a recorded result and got a different one", prev.Name)
		}
		return prev, nil
	}
	prev.State, prev.Result, prev.Evidence, prev.SettledAt = state, result, evidence, Millis(now)
	prev.Revision++
	return prev, nil
}
