package integration_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	killLanes      = 2 // reviews at once, each on a stack of its own
	killsPerReview = 9 // at most
)

// The step function's process is killed in the midst of its runs. Whatever it was
// about, every review ends with the same report, every revocation is applied once, the
// ledger is whole and each successor's fence is higher.
func TestStepProcessIsKilled(t *testing.T) {
	t.Parallel()
	want, digest, c := kills(t), embeddedDigest(t), newChance(t)
	began := time.Now()
	var budget, hits, others, reviews, leases, entries, repeats atomic.Int64
	budget.Store(int64(want))
	var lanes sync.WaitGroup
	for lane := range killLanes {
		k := newKiller(t, c, &budget)
		lanes.Go(func() {
			for round := 0; round == 0 || budget.Load() > 0; round++ {
				struck, before, _ := k.counts()
				h, counted, err := k.review(fmt.Sprintf("lane-%d-%d", lane, round), digest)
				strikes, after, _ := k.counts()
				hits.Add(int64(after - before))
				budget.Add(int64(max(0, (strikes-struck)-(after-before)))) // those that hit nothing
				if err != nil {
					t.Error(err)
					return
				}
				reviews.Add(1)
				leases.Add(int64(h.Fence))
				entries.Add(int64(len(h.entries)))
				repeats.Add(int64(counted.Totals.Repeats))
			}
			_, _, other := k.counts()
			others.Add(int64(other))
		})
	}
	lanes.Wait()
	if n := hits.Load(); n < int64(want) {
		t.Errorf("%d kills in the midst of a run, want %d", n, want)
	}
	if want >= defaultKills && repeats.Load() == 0 {
		t.Error("no revocation was in doubt and made again: the kills met none")
	}
	t.Logf("%d SIGKILLs in the midst of a run and %d while parking, over %d reviews in %s: %d leases, %d entries, %d revocations repeated under their key and recognised; same digest, each applied once",
		hits.Load(), others.Load(), reviews.Load(), time.Since(began).Round(time.Second), leases.Load(), entries.Load(), repeats.Load())
}

// review plays one review under kills and verifies all that can be seen of it.
func (k *killer) review(name string, want lifecycle.Digest) (h history, c counters, err error) {
	k.outside.renew(k.T)
	k.begin(killsPerReview)
	task, err := reviewAimed(k.T, k.url+reviewer, name, k.aim)
	killed := k.stop()
	if err != nil {
		return h, c, err
	}
	var wrong []error
	got, err := reportDigest(task)
	if err == nil && got != want {
		err = fmt.Errorf("%s: the report has the digest %s, want %s", name, got, want)
	}
	wrong = append(wrong, err)
	c, err = k.outside.counters()
	wrong = append(wrong, err, c.once())
	ctx := k.Context()
	h, err = verify(ctx, k.auth, refTo(task.ID))
	wrong = append(wrong, err, settled(ctx, k.ledger, h.Ref()))
	for _, one := range killed {
		if next := h.fenceAfter(one.seq); one.held && next != 0 && next <= one.fence {
			wrong = append(wrong, fmt.Errorf("I3: killed at entry %d under fence %d, the next commit has fence %d", one.seq, one.fence, next))
		}
	}
	if err = errors.Join(wrong...); err != nil {
		err = fmt.Errorf("%s, killed %d times: %w", name, len(killed), err)
	}
	return h, c, err
}
