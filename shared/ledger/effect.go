package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// BeginEffect decides what to do about an effect and, when it is to be called,
// records the intent first. *Conflict: the lease is lost or a cancellation was
// requested; nothing was recorded. A ConflictingContent rejection is kept as an
// incident.
func (a *Authority) BeginEffect(ctx context.Context, ref lifecycle.Ref, req lifecycle.EffectRequest) (lifecycle.EffectDecision, error) {
	for range maxRounds {
		prev, err := a.effect(ctx, ref, req.Visit, req.Name)
		if err != nil {
			return lifecycle.EffectDecision{}, err
		}
		d, err := lifecycle.DecideEffect(ref.Task, prev, req, a.Now())
		if err != nil {
			return d, a.incident(ctx, ref, req.Holder, req.Fence, err)
		}
		if d.Act != lifecycle.ActCall {
			return d, nil
		}
		err = a.persist(ctx, func() error { return a.Ledger.Intend(ctx, ref, d.Next) })
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, ErrEffectChanged) {
			return d, err
		}
		// Either somebody else wrote the record, or the answer to this very write was
		// lost: an intent of this lease at this revision is one's own.
		now, err := a.effect(ctx, ref, req.Visit, req.Name)
		if err != nil {
			return d, err
		}
		if now != nil && now.Revision == d.Next.Revision && now.Fence == d.Next.Fence && now.IntendedAt.Equal(d.Next.IntendedAt) && now.State == lifecycle.EffectIntended {
			return d, nil
		}
	}
	return lifecycle.EffectDecision{}, ErrBusy
}

// SettleCall records what became of a call, or of a question about one, that was
// begun at a revision of the effect's record, whoever holds the lease now.
func (a *Authority) SettleCall(ctx context.Context, ref lifecycle.Ref, visit uint64, name string, begun uint64, state lifecycle.EffectState, result json.RawMessage, evidence string) error {
	return a.settle(ctx, ref, visit, name, func(prev lifecycle.Effect) (lifecycle.Effect, error) {
		return lifecycle.SettleCall(prev, begun, state, result, evidence, a.Now())
	})
}

// SettleDoubt records what an operator found out about an effect in doubt, whose
// record had a revision when the operator saw it. ErrEffectChanged: it has another one
// by now.
func (a *Authority) SettleDoubt(ctx context.Context, ref lifecycle.Ref, visit uint64, name string, seen uint64, state lifecycle.EffectState, result json.RawMessage, evidence string) error {
	return a.settle(ctx, ref, visit, name, func(prev lifecycle.Effect) (lifecycle.Effect, error) {
		if prev.Revision == seen+1 && prev.State == state && prev.Evidence == evidence && (state != lifecycle.EffectDone || bytes.Equal(prev.Result, result)) {
			return prev, nil // one's own write, whose answer was lost
		}
		if prev.Revision != seen {
			return prev, ErrEffectChanged
		}
		return lifecycle.SettleDoubt(prev, state, result, evidence, a.Now())
	})
}

func (a *Authority) settle(ctx context.Context, ref lifecycle.Ref, visit uint64, name string, decide func(lifecycle.Effect) (lifecycle.Effect, error)) error {
	for range maxRounds {
		prev, err := a.Ledger.Effect(ctx, ref, visit, name)
		if err != nil {
			return err
		}
		next, err := decide(prev)
		if err != nil {
			return a.incident(ctx, ref, prev.Holder, prev.Fence, err)
		}
		if next.Revision == prev.Revision {
			return nil // nothing to write: settled already, or no longer this call's to say
		}
		err = a.persist(ctx, func() error { return a.Ledger.Settle(ctx, ref, next) })
		if !errors.Is(err, ErrEffectChanged) {
			return err
		}
	}
	return ErrBusy
}

func (a *Authority) effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (*lifecycle.Effect, error) {
	e, err := a.Ledger.Effect(ctx, ref, visit, name)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &e, err
}

// incident keeps a conflicting-content rejection beside the task and returns it.
func (a *Authority) incident(ctx context.Context, ref lifecycle.Ref, producer string, fence uint64, err error) error {
	r, ok := errors.AsType[*lifecycle.Rejection](err)
	if !ok || r.Reason != lifecycle.ConflictingContent {
		return err
	}
	return errors.Join(err, a.Ledger.Reject(ctx, ref, Rejected{
		At: lifecycle.Millis(a.Now()), Producer: producer, Reason: r.Reason, Detail: r.Detail, Fence: fence,
	}))
}
