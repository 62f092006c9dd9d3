package dynamo

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// pollFactor is how much longer each look waits than the one before.
const pollFactor = 1.5

// Watch implements ledger.Tasks: nothing wakes a process from a table, so it
// looks, seldom where nothing happens. A look is a strong read, so it misses
// nothing. A task that does not exist yet is waited for.
func (l *Ledger) Watch(ctx context.Context, ref lifecycle.Ref, after uint64) error {
	for wait := l.pollFirst; ; wait = min(time.Duration(float64(wait)*pollFactor), l.pollMost) {
		it, err := l.get(ctx, l.tables.Tasks, headKey(ref), seqName)
		if err != nil {
			return err
		}
		var h lifecycle.Head
		if err := headLayout.decode(it, &h); err != nil || h.Seq > after {
			return err
		}
		if err := rest(ctx, wait); err != nil {
			return err
		}
	}
}
