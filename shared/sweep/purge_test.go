package sweep_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

const keyNote = 30 * day

// purges forgets what the desk's tasks have left, as another process does.
func (d *desk) purges(l ledger.Purges) *sweep.Purges {
	return &sweep.Purges{
		Purger: &ledger.Purger{Purges: l, Blobs: ledgertest.NewMemoryBlobs(), Now: d.clock.Now, KeyNote: keyNote},
		Page:   4, Most: 1000, Beside: 2, Within: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
}

// canceled is a task that has ended: three entries, and a head.
func (d *desk) canceled() lifecycle.Ref {
	d.t.Helper()
	return d.task(lifecycle.RequestCancel{})
}

// forget runs once and wants to have found.
func (d *desk) forget(p *sweep.Purges, want sweep.Forgotten) {
	d.t.Helper()
	got, err := p.Run(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if want.Records == 0 && want.Purged > 0 {
		want.Records = want.Purged * 4
	}
	if got != want {
		d.t.Errorf("found %+v, want %+v", got, want)
	}
}

func (d *desk) gone(ref lifecycle.Ref) bool {
	_, err := d.memory.Head(context.Background(), ref)
	return errors.Is(err, ledger.ErrNotFound)
}

// A task is forgotten when its retention is over, not before, and no other is touched;
// whoever looks for live tasks does not meet it.
func TestForgetsWhatHasExpired(t *testing.T) {
	d := newDesk(t)
	p := d.purges(d.memory)
	lives, ended := d.task(grant(), d.sleep(60*day)), d.canceled()
	at := d.head(ended).ExpiresAt
	d.clock.Advance(at.Sub(d.clock.Now()) - time.Microsecond)
	d.forget(p, sweep.Forgotten{})
	d.sweep(untouched)
	d.clock.Advance(time.Microsecond)
	d.sweep(untouched)
	d.forget(p, sweep.Forgotten{Looked: 1, Purged: 1})
	if !d.gone(ended) || d.gone(lives) {
		t.Errorf("the ended task is gone: %t, the live one: %t", d.gone(ended), d.gone(lives))
	}
	d.forget(p, sweep.Forgotten{})
}

// Who is told of expired tasks (a stream, by TTL) has time to see to them; what was lost
// on the way is found afterwards (case 65).
func TestLeavesTimeToWhoIsTold(t *testing.T) {
	d := newDesk(t)
	p := d.purges(d.memory)
	p.Patience = 2 * day
	told, lost := d.canceled(), d.canceled()
	d.clock.Advance(lifecycle.DefaultRetention + 2*day - time.Millisecond)
	d.forget(p, sweep.Forgotten{})
	if got := p.Tasks(t.Context(), []lifecycle.Ref{told}); got != (sweep.Forgotten{Looked: 1, Purged: 1, Records: 4}) {
		t.Errorf("of what it was told it did %+v", got)
	}
	d.clock.Advance(time.Millisecond)
	d.forget(p, sweep.Forgotten{Looked: 1, Purged: 1})
	if !d.gone(told) || !d.gone(lost) {
		t.Error("a task is left")
	}
	d.forget(p, sweep.Forgotten{})
	// Told again, told of what lives, of what was never there.
	lives, ended := d.task(), d.canceled()
	if got := p.Tasks(t.Context(), []lifecycle.Ref{told, lives, ended, {Tenant: tenant, Task: "never"}}); got != (sweep.Forgotten{Looked: 4, Skipped: 4}) {
		t.Errorf("of what is not to be purged it did %+v", got)
	}
	if d.gone(lives) || d.gone(ended) {
		t.Error("a task is gone")
	}
}

// A run is bounded, and the next one goes on where it stopped: tasks that cannot be
// purged keep it from none behind them.
func TestForgettingIsBounded(t *testing.T) {
	d := newDesk(t)
	stuck := map[lifecycle.Ref]error{}
	for range 15 {
		stuck[d.canceled()] = errOops
		d.clock.Advance(time.Millisecond)
	}
	last := d.canceled()
	p := d.purges(&stubborn{Memory: d.memory, broken: stuck})
	p.Most = 10 // no multiple of the page
	d.clock.Advance(lifecycle.DefaultRetention)
	d.forget(p, sweep.Forgotten{Looked: 10, Failed: 10, Records: 30})
	d.forget(p, sweep.Forgotten{Looked: 6, Failed: 5, Purged: 1, Records: 19})
	if !d.gone(last) {
		t.Error("the last one is left")
	}
	clear(stuck)
	d.forget(p, sweep.Forgotten{Looked: 10, Purged: 10, Records: 10}) // only what was left of their heads
	d.forget(p, sweep.Forgotten{Looked: 5, Purged: 5, Records: 5})
	if tasks, purges, _, entries := d.memory.Left(); tasks+purges+entries != 0 {
		t.Errorf("%d tasks, %d purges, %d entries are left", tasks, purges, entries)
	}
}

// stubborn lets purges of some tasks fail at their last call, or take too long.
type stubborn struct {
	*ledgertest.Memory

	broken map[lifecycle.Ref]error
	slow   lifecycle.Ref
}

func (s *stubborn) EndPurge(ctx context.Context, p ledger.Purge, forgetAt time.Time) error {
	if err := s.broken[p.Ref]; err != nil {
		return err
	}
	return s.Memory.EndPurge(ctx, p, forgetAt)
}

func (s *stubborn) PurgePiece(ctx context.Context, ref lifecycle.Ref) (int, bool, error) {
	if ref == s.slow {
		<-ctx.Done()
		return 0, true, ctx.Err()
	}
	return s.Memory.PurgePiece(ctx, ref)
}

// A task that is too large for one run keeps no other waiting, and is gone on with.
func TestLargeTaskGoesOnLater(t *testing.T) {
	d := newDesk(t)
	large, small := d.canceled(), d.canceled()
	d.clock.Advance(lifecycle.DefaultRetention)
	s := &stubborn{Memory: d.memory, slow: large}
	p := d.purges(s)
	p.Within, p.Beside = time.Millisecond, 1
	d.forget(p, sweep.Forgotten{Looked: 2, Unfinished: 1, Purged: 1})
	s.slow = lifecycle.Ref{}
	d.forget(p, sweep.Forgotten{Looked: 1, Purged: 1})
	if !d.gone(large) || !d.gone(small) {
		t.Error("a task is left")
	}
}

// Two at once do no harm: each task is purged, its key noted once, and neither fails.
func TestTwoForgetAtOnce(t *testing.T) {
	for range 20 {
		d := newDesk(t)
		const tasks = 30
		for range tasks {
			d.canceled()
		}
		lives := d.task()
		d.clock.Advance(lifecycle.DefaultRetention)
		found := make([]sweep.Forgotten, 2)
		var all sync.WaitGroup
		for i := range found {
			p := d.purges(d.memory)
			all.Go(func() {
				var err error
				if found[i], err = p.Run(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		left, purges, _, entries := d.memory.Left()
		if left != 1 || purges != 0 || entries != 1 || d.gone(lives) {
			t.Fatalf("%d tasks, %d purges, %d entries are left, want the live one's", left, purges, entries)
		}
		if n := found[0].Purged + found[1].Purged; n < tasks || found[0].Failed+found[1].Failed != 0 {
			t.Fatalf("%+v: %d tasks were purged, want at least %d", found, n, tasks)
		}
	}
}

// Without an index there is no run, and the error says so. A process that stops purges
// no more.
func TestForgettingStops(t *testing.T) {
	d := newDesk(t)
	for range 6 {
		d.canceled()
	}
	d.clock.Advance(lifecycle.DefaultRetention)
	for method, want := range map[string]sweep.Forgotten{"ForgetKeys": {}, "Expired": {}} {
		p := d.purges((&ledgertest.Faults{Plan: ledgertest.On(method, ledgertest.FailBefore, 1)}).Ledger(d.memory))
		if found, err := p.Run(t.Context()); !errors.Is(err, ledger.ErrUnavailable) || found != want {
			t.Errorf("without %s: %+v, %v", method, found, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	p := d.purges(d.memory)
	p.Purger.Now = func() time.Time { stop(); return d.clock.Now() }
	if found, err := p.Run(ctx); !errors.Is(err, context.Canceled) || found.Purged > 0 {
		t.Errorf("when it is to stop: %+v, %v", found, err)
	}
	d.forget(d.purges(d.memory), sweep.Forgotten{Looked: 6, Purged: 6})
}

// The index may lag behind: it lists tasks that are gone.
func TestForgettingByAStaleIndex(t *testing.T) {
	d := newDesk(t)
	for range 3 {
		d.canceled()
	}
	d.clock.Advance(lifecycle.DefaultRetention)
	p := d.purges((&ledgertest.Faults{Plan: ledgertest.On("Expired", ledgertest.Stale, 2)}).Ledger(d.memory))
	d.forget(p, sweep.Forgotten{Looked: 3, Purged: 3})
	d.forget(p, sweep.Forgotten{Looked: 3, Skipped: 3})
	d.forget(p, sweep.Forgotten{})
}
