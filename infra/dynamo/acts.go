package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Act implements ledger.Tasks. As with rejections, the counter on the head gives the
// record its number and is the condition that it is written under.
func (l *Ledger) Act(ctx context.Context, ref lifecycle.Ref, a ledger.Acted) error {
	if err := a.Check(); err != nil {
		return err
	}
	it, err := l.get(ctx, l.tables.Tasks, headKey(ref), seqName, actsName)
	if err != nil {
		return err
	}
	for range rejectRounds {
		if headOf(it) == nil {
			return noTask(ref)
		}
		before := countOf(it, actsName)
		if before >= a.Places() {
			return ledger.ErrActsFull
		}
		var t transaction
		t.update(l.tables.Tasks, headKey(ref), (&expression{}).headExists().increase(actsName).is(actsName, numberOrNone(uint64(before))))
		t.putRecord(l.tables.Tasks, actKey(ref, before+1), plainLayout, a, (&expression{}).isNew())
		err := l.transact(ctx, &t)
		refused, is := errors.AsType[*refusal](err)
		if !is {
			return err
		}
		it = refused.at(0).old
	}
	return fmt.Errorf("counting what an operator did to task %s: %w", ref, ledger.ErrBusy)
}

// Acts implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Acts(ctx context.Context, ref lifecycle.Ref) ([]ledger.Acted, error) {
	return plainChildren[ledger.Acted](ctx, l, ref, actPrefix, "operators' records")
}
