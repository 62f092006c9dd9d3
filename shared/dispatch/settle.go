package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// troubleWait is how long an execution waits after trouble with the
// infrastructure before it runs again.
const troubleWait = 5 * time.Second

// Settle looks at the task of an execution in which something failed and says how
// it goes on. The failure itself decides nothing: a state that timed out may
// have been answered, and a task may have ended in the meantime.
func (d *Dispatcher) Settle(ctx context.Context, in Input, execution string) (lifecycle.Outcome, error) {
	t, err := d.Authority.Load(ctx, in.Ref())
	if errors.Is(err, ledger.ErrNotFound) {
		return lifecycle.Outcome{Word: lifecycle.WordDone}, nil
	}
	if err != nil {
		return lifecycle.Outcome{}, err
	}
	now := d.Authority.Now()
	if out, rest := lifecycle.AtRest(t.Head, in.Generation, execution, now); rest {
		return out, nil
	}
	if t.Pause == nil {
		if d.Watch != nil {
			d.Watch.ExecutionFailed(ctx, t.Head, execution)
		}
		return d.afterTrouble(t.Head, now), nil
	}
	res, err := d.Authority.Do(ctx, t, lifecycle.Expire{}, lifecycle.Source{Producer: "dispatch"}, ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); err != nil && !refused {
		return lifecycle.Outcome{}, err
	}
	if out, rest := lifecycle.AtRest(res.Task.Head, in.Generation, execution, now); rest {
		return out, nil
	}
	return lifecycle.Outcome{Word: lifecycle.WordContinue}, nil
}

// afterTrouble waits after a failed Run; an execution whose pause was answered
// while its state failed goes on at once. An answer is news for a moment only:
// where every Run fails, as on a full disk, going on at once would be a circle.
func (d *Dispatcher) afterTrouble(h lifecycle.Head, now time.Time) lifecycle.Outcome {
	if h.Holder == "" && h.MessageSeq == h.Seq && now.Sub(h.StatusAt) < troubleWait {
		return lifecycle.Outcome{Word: lifecycle.WordContinue}
	}
	return lifecycle.WaitFor(max(troubleWait, h.NextAt.Sub(now)))
}
