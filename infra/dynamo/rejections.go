package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// rejectRounds bounds how often others may count first.
const rejectRounds = 32

// Reject implements ledger.Tasks. The counter on the head gives the rejection its
// number and is the condition that it is written under; beyond the cap the counter
// alone rises.
func (l *Ledger) Reject(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected) error {
	it, err := l.get(ctx, l.tables.Tasks, headKey(ref), seqName, rejectionsName)
	if err != nil {
		return err
	}
	for range rejectRounds {
		if headOf(it) == nil {
			return noTask(ref)
		}
		err := l.keep(ctx, ref, r, countOf(it, rejectionsName))
		refused, is := errors.AsType[*refusal](err)
		if !is {
			return err
		}
		it = refused.at(0).old
	}
	return fmt.Errorf("counting a rejection of task %s: %w", ref, ledger.ErrBusy)
}

// keep writes a rejection after so many others. *refusal: there are more.
func (l *Ledger) keep(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected, before int) error {
	head := (&expression{}).headExists().increase(rejectionsName)
	if r.Reason == lifecycle.ConflictingContent {
		head.increase(incidentsName)
	}
	if before >= lifecycle.MaxRejections {
		return l.update(ctx, l.tables.Tasks, headKey(ref), head.compare(rejectionsName, ">=", number(lifecycle.MaxRejections)))
	}
	var t transaction
	t.update(l.tables.Tasks, headKey(ref), head.is(rejectionsName, numberOrNone(uint64(before))))
	t.putRecord(l.tables.Tasks, rejectedKey(ref, before+1), plainLayout, r, (&expression{}).isNew())
	return l.transact(ctx, &t)
}

// Rejections implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error) {
	return plainChildren[ledger.Rejected](ctx, l, ref, rejectedPref, "rejections")
}
