package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

var errOops = errors.New("oops")

// Full pages of tasks that it must skip do not keep the sweep from the one behind
// them.
func TestGetsPastWhatItSkips(t *testing.T) {
	d := newDesk(t)
	for range 3 * d.sweeper.Page {
		d.submit(2)
		d.clock.Advance(time.Millisecond)
	}
	last := d.task()
	d.clock.Advance(grace)
	d.sweep(sweep.Found{Looked: 13, Unknown: 12, Restarted: 1})
	generation(2)(d, last)
}

// A run is bounded, and the next one goes on where it stopped: more tasks that
// must be skipped than one run may look at do not keep the sweep from the others
// either. At the end it begins anew.
func TestBoundedWork(t *testing.T) {
	d := newDesk(t)
	d.sweeper.Most = 10 // no multiple of the page
	for range 15 {
		d.submit(2)
		d.clock.Advance(time.Millisecond)
	}
	last := d.task()
	d.clock.Advance(grace)
	d.sweep(sweep.Found{Looked: 10, Unknown: 10})
	d.sweep(sweep.Found{Looked: 6, Unknown: 5, Restarted: 1})
	generation(2)(d, last)
	d.sweep(sweep.Found{Looked: 10, Unknown: 10})
	d.sweep(sweep.Found{Looked: 5, Unknown: 5})
	d.sweep(sweep.Found{Looked: 10, Unknown: 10})
}

// selective breaks the reads of some tasks.
type selective struct {
	ledger.Ledger
	broken map[lifecycle.Ref]error
}

// Head implements ledger.Tasks.
func (s selective) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	if err := s.broken[ref]; err != nil {
		return lifecycle.Head{}, err
	}
	return s.Ledger.Head(ctx, ref)
}

// An error about one task does not end the run, and the next run tries again. A
// task that was purged since the index was read is nobody's business.
func TestErrorAboutOneTask(t *testing.T) {
	d := newDesk(t)
	unread, unstarted, purged := d.task(), d.task(), d.task()
	untold := d.task(grant(), pause(grace, ""))
	fine := []lifecycle.Ref{d.task(), d.task(), d.task()}
	s := selective{Ledger: d.memory, broken: map[lifecycle.Ref]error{unread: errOops, purged: ledger.ErrNotFound}}
	d.sweeper.Authority = &ledger.Authority{Ledger: s, Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.told.broken = map[a2a.TaskID]error{unstarted.Task: errOops, untold.Task: errOops}
	d.clock.Advance(grace)
	d.sweep(sweep.Found{Looked: 7, Restarted: 4, Expired: 1, Skipped: 1, Failed: 3})
	for _, ref := range fine {
		generation(2)(d, ref)
	}
	ended(lifecycle.Failed, "Nobody answered before the deadline.", 1)(d, untold)
	clear(s.broken)
	clear(d.told.broken)
	d.sweep(sweep.Found{Looked: 3, Restarted: 3})
}

// Without an index there is no sweep, and the error says so.
func TestIndexIsDown(t *testing.T) {
	d := newDesk(t)
	for range 6 {
		d.task()
	}
	faults := &ledgertest.Faults{Plan: ledgertest.On("Due", ledgertest.FailBefore, 2)}
	d.sweeper.Authority = &ledger.Authority{Ledger: faults.Ledger(d.memory), Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.clock.Advance(grace)
	found, err := d.sweeper.Run(t.Context())
	if want := (sweep.Found{Looked: 4, Restarted: 4}); !errors.Is(err, ledger.ErrUnavailable) || found != want {
		t.Errorf("%+v, %v; want %+v and unavailable", found, err, want)
	}
	d.sweep(sweep.Found{Looked: 2, Restarted: 2})
}

// A process that stops does not sweep on, and the task that it was at is not taken for one
// that was looked at.
func TestStops(t *testing.T) {
	d := newDesk(t)
	for range 6 {
		d.task()
	}
	d.clock.Advance(grace)
	ctx, stop := context.WithCancel(t.Context())
	d.sweeper.Known = func(string, int) bool { stop(); return true }
	found, err := d.sweeper.Run(ctx)
	if !errors.Is(err, context.Canceled) || found.Looked != 0 || found.Restarted != 1 {
		t.Errorf("%+v, %v; want to stop at the first task", found, err)
	}
}

// The index may lag behind: it lists a task that has ended, or one that was handled
// a moment ago. The head decides.
func TestStaleIndex(t *testing.T) {
	d := newDesk(t)
	for range 3 {
		d.task()
	}
	expiring := d.task(grant(), pause(grace, ""))
	faults := &ledgertest.Faults{Plan: ledgertest.On("Due", ledgertest.Stale, 2, 3)}
	d.sweeper.Authority = &ledger.Authority{Ledger: faults.Ledger(d.memory), Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.clock.Advance(grace)
	d.sweep(sweep.Found{Looked: 4, Restarted: 3, Expired: 1})
	d.sweep(sweep.Found{Looked: 4, Skipped: 4})
	d.clock.Advance(time.Second)
	d.sweep(sweep.Found{Looked: 4, Skipped: 4})
	d.sweep(untouched)
	ended(lifecycle.Failed, "Nobody answered before the deadline.", 1)(d, expiring)
}

// A task whose record cannot be read keeps the sweep from no other one, and is told of.
func TestGetsPastWhatCannotBeRead(t *testing.T) {
	d := newDesk(t)
	bad := d.task()
	d.clock.Advance(time.Millisecond)
	last := d.task()
	d.clock.Advance(grace)
	var log bytes.Buffer
	d.sweeper.Logger = slog.New(slog.NewTextHandler(&log, nil))
	d.sweeper.Authority = &ledger.Authority{Ledger: ledgertest.Torn{Ledger: d.memory, Task: bad}, Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.sweep(sweep.Found{Looked: 2, Failed: 1, Restarted: 1})
	generation(2)(d, last)
	if line := log.String(); !strings.Contains(line, "level=ERROR") || !strings.Contains(line, string(bad.Task)) {
		t.Errorf("told of it: %q", line)
	}
}
