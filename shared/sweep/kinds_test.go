package sweep_test

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// finding is what a sweep is to do about one task.
type finding struct {
	// bring makes the task.
	bring func(d *desk) lifecycle.Ref
	// quiet is the longest time in which the sweep has nothing to do with it; a
	// millisecond later it has.
	quiet time.Duration
	early sweep.Found // after quiet
	found sweep.Found // a millisecond later
	check func(d *desk, ref lifecycle.Ref)
}

var (
	untouched = sweep.Found{}
	expired   = sweep.Found{Looked: 1, Expired: 1}
	restarted = sweep.Found{Looked: 1, Restarted: 1}
	skipped   = sweep.Found{Looked: 1, Skipped: 1}
	unknown   = sweep.Found{Looked: 1, Unknown: 1}
)

// findings are the kinds of what time alone makes due. The ledger counts
// milliseconds, and the desk's clock begins within one.
func findings() map[string]finding {
	return map[string]finding{
		"a start that nobody was told of": {
			bring: func(d *desk) lifecycle.Ref { return d.task() },
			quiet: grace - time.Millisecond, early: untouched, found: restarted, check: generation(2),
		},
		"a resume that nobody was told of": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), pause(day, ""), reply()) },
			quiet: grace - time.Millisecond, early: untouched, found: restarted, check: generation(2),
		},
		"a lease that ran out": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant()) },
			quiet: lease + grace - time.Millisecond, early: untouched, found: restarted, check: generation(2),
		},
		"a step that nobody went on with": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), moveOn()) },
			quiet: grace - time.Millisecond, early: untouched, found: restarted, check: generation(2),
		},
		"a sleep that nobody woke from": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), d.sleep(time.Hour)) },
			quiet: time.Hour + grace - time.Millisecond, early: untouched, found: restarted, check: generation(2),
		},
		"a pause past its deadline": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), pause(time.Hour, "")) },
			quiet: time.Hour - time.Millisecond, early: untouched, found: expired, check: ended(lifecycle.Failed, "Nobody answered before the deadline.", 1),
		},
		"a pause that ends as canceled": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), pause(time.Hour, lifecycle.Canceled)) },
			quiet: time.Hour - time.Millisecond, early: untouched, found: expired, check: ended(lifecycle.Canceled, "Nobody answered before the deadline.", 1),
		},
		"a sleep beyond the longest life": {
			bring: func(d *desk) lifecycle.Ref { return d.task(grant(), d.sleep(lifecycle.DefaultLife+day)) },
			quiet: lifecycle.DefaultLife - time.Millisecond, early: untouched, found: expired, check: ended(lifecycle.Failed, "The task reached the end of its longest life.", 0),
		},
		"a life that ended in a lease": { // a holder that renews for ever does not live for ever
			bring: func(d *desk) lifecycle.Ref {
				ref := d.task(grant())
				d.must(ref, lifecycle.Renew{Holder: "e1", Fence: 1, Lease: lifecycle.DefaultLife + day})
				return ref
			},
			quiet: lifecycle.DefaultLife - time.Millisecond, early: skipped, found: expired, check: ended(lifecycle.Failed, "The task reached the end of its longest life.", 0),
		},
		"an unknown version": { // a deploy is under way
			bring: func(d *desk) lifecycle.Ref { return d.submit(2) },
			quiet: grace - time.Millisecond, early: untouched, found: unknown, check: generation(1),
		},
		"an unknown version past its life": {
			bring: func(d *desk) lifecycle.Ref { return d.submit(2) },
			quiet: lifecycle.DefaultLife - time.Millisecond, early: unknown, found: expired, check: ended(lifecycle.Failed, "The task reached the end of its longest life.", 0),
		},
		"a lease that is renewed": {
			bring: func(d *desk) lifecycle.Ref {
				ref := d.task(grant())
				d.must(ref, lifecycle.Renew{Holder: "e1", Fence: 1, Lease: time.Hour})
				return ref
			},
			quiet: time.Hour - time.Millisecond, early: skipped, found: restarted, check: generation(2),
		},
	}
}

func generation(want uint64) func(*desk, lifecycle.Ref) {
	return func(d *desk, ref lifecycle.Ref) {
		d.t.Helper()
		if h := d.head(ref); h.Generation != want || h.Terminal() {
			d.t.Errorf("generation %d in %s, want %d and alive", h.Generation, h.State, want)
		}
		if n := d.told.restarted[ref.Task]; n != int(want)-1 {
			d.t.Errorf("restarted %d times, want %d", n, want-1)
		}
	}
}

func ended(state a2a.TaskState, text string, pause int) func(*desk, lifecycle.Ref) {
	return func(d *desk, ref lifecycle.Ref) {
		d.t.Helper()
		last := d.last(ref)
		if last.Type != lifecycle.TypeEnded || last.State != state || last.Message.Parts[0].Text() != text || last.Ending.Reason == "" {
			d.t.Errorf("the last entry is %+v, want %s with %q", last, state, text)
		}
		if got := d.told.answered[ref.Task]; got != pause || d.told.restarted[ref.Task] != 0 {
			d.t.Errorf("told of pause %d and %d restarts, want pause %d and none", got, d.told.restarted[ref.Task], pause)
		}
	}
}

// Each kind is found at its instant and not before; the next sweep finds nothing
// more to do about it.
func TestFindings(t *testing.T) {
	for name, f := range findings() {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ref := f.bring(d)
			d.clock.Advance(f.quiet - time.Microsecond*123) // to the millisecond's edge
			d.sweep(f.early)
			if n := len(d.told.answered) + d.told.restarted[ref.Task]; n != 0 {
				t.Errorf("too early: told %+v", d.told)
			}
			d.clock.Advance(time.Millisecond)
			d.sweep(f.found)
			f.check(d, ref)
			if f.found != unknown {
				d.sweep(untouched)
				f.check(d, ref)
			}
		})
	}
}

// A cancellation that a dead holder has not met ends its task as canceled,
// without another execution.
func TestCancellationOfADeadHolder(t *testing.T) {
	d := newDesk(t)
	d.told.run = true
	ref := d.task(grant(), lifecycle.RequestCancel{})
	d.clock.Advance(lease + grace)
	d.sweep(restarted)
	if last := d.last(ref); last.State != lifecycle.Canceled {
		t.Errorf("the last entry is %+v, want canceled", last)
	}
	entries, err := d.memory.Entries(t.Context(), ref, 0, 0)
	if err != nil || entries[len(entries)-2].Type != lifecycle.TypeCancelRequested {
		t.Errorf("the request is not in the history, %v", err)
	}
	d.sweep(untouched)
}

// A restarted task that runs is left alone.
func TestRestartedTaskRuns(t *testing.T) {
	d := newDesk(t)
	d.told.run = true
	ref := d.task()
	d.clock.Advance(grace)
	d.sweep(restarted)
	if h := d.head(ref); h.Holder != "g2" || h.State != lifecycle.Working {
		t.Errorf("%q holds the lease of a task in %s", h.Holder, h.State)
	}
	d.clock.Advance(lease)
	d.sweep(untouched)
}
