package sweep_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// abreast lets nobody act on what is due before all have read it. Every other
// sweep goes through it backwards, so that they meet in the middle.
type abreast struct {
	ledger.Ledger
	once      sync.Once
	line      *sync.WaitGroup
	backwards bool
}

// Due implements ledger.Index.
func (a *abreast) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	page, err := a.Ledger.Due(ctx, before, after, limit)
	if a.backwards {
		slices.Reverse(page.Heads)
	}
	a.once.Do(func() {
		a.line.Done()
		a.line.Wait()
	})
	return page, err
}

// Head implements ledger.Tasks. It gives way to the other sweep, also where there
// is only one processor.
func (a *abreast) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	h, err := a.Ledger.Head(ctx, ref)
	runtime.Gosched()
	return h, err
}

// Two sweeps at once do no harm: both have read the same page, and whatever they
// meet at, a task is ended once, gets a new execution, and keeps one history.
func TestTwoSweepsAtOnce(t *testing.T) {
	const rounds, each = 40, 5
	var first, second, doubled int
	for range rounds {
		d := newDesk(t)
		var lost, expiring []lifecycle.Ref
		for range each {
			lost = append(lost, d.task(), d.task(grant()))
			expiring = append(expiring, d.task(grant(), pause(time.Minute, "")))
		}
		d.clock.Advance(time.Minute)
		found := d.sweepAbreast(2)
		if n := found[0].Expired + found[1].Expired; n != each || found[0].Failed+found[1].Failed != 0 {
			t.Fatalf("found %+v: %d tasks ended, want %d, and none failed", found, n, each)
		}
		first, second = first+found[0].Expired, second+found[1].Expired
		for _, ref := range expiring {
			ended(lifecycle.Failed, "Nobody answered before the deadline.", 1)(d, ref)
		}
		for _, ref := range lost {
			h := d.head(ref)
			d.last(ref)
			if h.Generation < 2 || h.Generation > 3 || h.Terminal() {
				t.Fatalf("generation %d in %s, want a new one and alive", h.Generation, h.State)
			}
			if h.Generation == 3 {
				doubled++
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds: %d tasks were ended by the first sweep, %d by the second; %d of %d were restarted twice", rounds, first, second, doubled, rounds*each*2)
	if total := rounds * each; first*10 < total || second*10 < total {
		t.Error("a sweep ended less than 10 % of the tasks: they hardly met")
	}
}

// sweepAbreast runs so many sweeps, each of a process of its own.
func (d *desk) sweepAbreast(n int) []sweep.Found {
	d.t.Helper()
	found := make([]sweep.Found, n)
	var line, all sync.WaitGroup
	line.Add(n)
	for i := range found {
		s := d.newSweeper()
		s.Page = 100
		s.Authority = &ledger.Authority{Ledger: &abreast{Ledger: d.memory, line: &line, backwards: i%2 == 1}, Now: d.clock.Now, NewID: a2a.NewMessageID}
		all.Go(func() {
			var err error
			if found[i], err = s.Run(context.Background()); err != nil {
				d.t.Error(err)
			}
		})
	}
	all.Wait()
	return found
}
