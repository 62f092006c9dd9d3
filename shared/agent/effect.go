package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultEffectTimeout bounds the call of an effect.
const DefaultEffectTimeout = 30 * time.Second

// Policy says how an effect in doubt is settled: one that was begun and whose
// result was not recorded, because the process died or the call came back with
// an error that does not say that nothing was done.
type Policy string

// Policies.
const (
	PolicyRetry     Policy = "retry"
	PolicyReconcile Policy = "reconcile"
	PolicyHold      Policy = "hold"
)

// EffectOption changes how an effect is run.
type EffectOption func(*effectOptions)

type effectOptions struct {
	policy    Policy
	request   any
	timeout   time.Duration
	reconcile func(context.Context, string) (any, bool, error)
}

// Reconcile settles an effect in doubt by asking the other side: ask returns the
// result and true when the call was carried out, false when it surely was not. An
// error leaves the effect in doubt for the next attempt.
func Reconcile[R any](ask func(ctx context.Context, key string) (R, bool, error)) EffectOption {
	return func(o *effectOptions) {
		o.policy = PolicyReconcile
		o.reconcile = func(ctx context.Context, key string) (any, bool, error) { return ask(ctx, key) }
	}
}

// Hold leaves an effect in doubt to an operator: it is neither repeated nor
// given up until one has settled it.
func Hold() EffectOption { return func(o *effectOptions) { o.policy = PolicyHold } }

// Request records what was asked for. A rerun that asks for something else under
// the same name is refused: it is a programming error.
func Request(v any) EffectOption { return func(o *effectOptions) { o.request = v } }

// Within bounds the call; the default is DefaultEffectTimeout.
func Within(d time.Duration) EffectOption { return func(o *effectOptions) { o.timeout = d } }

// names are the effects that were carried out in one attempt.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
}

// check refuses a name that cannot be an effect's, or that one had already: a
// second effect under it would be given the result of the first.
func (n *names) check(name string) error {
	if !nameForm.MatchString(name) {
		return Permanent(fmt.Errorf("effect %q needs a name of %s", name, nameForm))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[name] {
		return Permanent(fmt.Errorf("effect %q was carried out in this step already: give each effect of a step its own name", name))
	}
	return nil
}

func (n *names) used(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
}

// Effect makes an outside call and records its result. The name is unique within the
// step; reruns of the step find the recorded result and do not call again. The
// key is the same for every attempt: hand it to the other side, so that it
// recognises a repetition.
//
// Guarantee: a recorded result is never asked for again. When the process dies
// between the call and its record, the effect is in doubt and is settled by its
// policy. Without an option that policy is to call again with the same key, which
// is right only if the other side honours the key; otherwise use Reconcile or
// Hold. Not guaranteed: that an outside system which ignores the key is called at
// most once.
//
// An error of the call is returned as it is, for the step to return: the next
// attempt settles the effect first.
func Effect[R, S any](ctx context.Context, t *Task[S], name string, call func(ctx context.Context, key string) (R, error), opts ...EffectOption) (R, error) {
	var zero R
	if err := t.once.check(name); err != nil {
		return zero, err
	}
	o := effectOptions{policy: PolicyRetry, timeout: DefaultEffectTimeout}
	for _, opt := range opts {
		opt(&o)
	}
	if o.timeout <= 0 {
		return zero, Permanent(fmt.Errorf("effect %q is given %s for its call", name, o.timeout))
	}
	if err := kept[R](); err != nil { // before anything is called
		return zero, Permanent(fmt.Errorf("the result of effect %q cannot be stored: %w", name, err))
	}
	request, err := json.Marshal(o.request)
	if err != nil {
		return zero, Permanent(fmt.Errorf("the request of effect %q cannot be stored: %w", name, err))
	}
	start := EffectStart{Name: name, Policy: o.policy, Request: request, Timeout: o.timeout}
	ticket, err := t.session.BeginEffect(ctx, start)
	if err != nil {
		return zero, err
	}
	if ticket.Act == EffectAsk {
		if ticket, err = settleByAsking(ctx, t.session, ticket, o, start); err != nil {
			return zero, err
		}
	}
	var result R
	switch ticket.Act {
	case EffectRecorded:
		result, err = decode[R](name, ticket.Result)
	case EffectCall:
		result, err = callOnce(ctx, t.session, ticket, call)
	default: // settled and in doubt again: somebody else is at it
		err = &InDoubt{Effect: name, Until: ticket.CallUntil}
	}
	if err != nil {
		return zero, err
	}
	t.once.used(name)
	return result, nil
}

// callOnce makes the call and records what became of it.
func callOnce[R any](ctx context.Context, s Session, ticket Ticket, call func(context.Context, string) (R, error)) (R, error) {
	var zero R
	callCtx, cancel := context.WithDeadline(ctx, ticket.CallUntil)
	defer cancel()
	result, callErr := call(callCtx, ticket.Key)
	if callErr != nil {
		end := EffectEnd{Ticket: ticket, Kind: EndInDoubt}
		if IsNotDone(callErr) {
			end.Kind = EndNotDone
		}
		return zero, joined(callErr, s.EndEffect(ctx, end))
	}
	raw, err := encodeResult(ticket.Name, result)
	if err != nil {
		// The call was made and cannot be recorded: nobody may take it for undone.
		return zero, joined(err, s.EndEffect(ctx, EffectEnd{Ticket: ticket, Kind: EndInDoubt, Evidence: "own call, result not recorded"}))
	}
	if err := s.EndEffect(ctx, EffectEnd{Ticket: ticket, Kind: EndDone, Result: raw, Evidence: "own call"}); err != nil {
		return zero, err
	}
	return decode[R](ticket.Name, raw) // what a rerun will see
}

// joined is the first error, with the second where there is one.
func joined(err, recording error) error {
	if recording == nil {
		return err
	}
	return errors.Join(err, recording)
}

// settleByAsking reconciles an effect in doubt: recorded, or free to be called.
func settleByAsking(ctx context.Context, s Session, ticket Ticket, o effectOptions, start EffectStart) (Ticket, error) {
	if o.reconcile == nil {
		return ticket, &InDoubt{Effect: ticket.Name, Held: true}
	}
	askCtx, cancel := context.WithDeadline(ctx, ticket.CallUntil)
	defer cancel()
	result, found, err := o.reconcile(askCtx, ticket.Key)
	if err != nil {
		return ticket, err
	}
	end := EffectEnd{Ticket: ticket, Kind: EndNotDone, Evidence: "reconciled: not done"}
	if found {
		raw, err := encodeResult(ticket.Name, result)
		if err != nil {
			return ticket, err
		}
		end = EffectEnd{Ticket: ticket, Kind: EndDone, Result: raw, Evidence: "reconciled: done"}
	}
	if err := s.EndEffect(ctx, end); err != nil {
		return ticket, err
	}
	return s.BeginEffect(ctx, start)
}

func encodeResult(name string, result any) (json.RawMessage, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, Permanent(fmt.Errorf("the result of effect %q cannot be stored: %w", name, err))
	}
	if len(raw) > MaxEffectResultBytes {
		return nil, Permanent(fmt.Errorf("the result of effect %q has %d bytes, the limit is %d: return what the next steps need", name, len(raw), MaxEffectResultBytes))
	}
	return raw, nil
}

func decode[R any](name string, raw json.RawMessage) (R, error) {
	var out R
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, Permanent(fmt.Errorf("the recorded result of effect %q does not fit %T: %w", name, out, err))
	}
	return out, nil
}
