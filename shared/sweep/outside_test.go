package sweep_test

import (
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// What is worked on outside is left to its workers: looked at once when it is due,
// and then not before its life ends or somebody claims it.

var left = sweep.Found{Looked: 1, Left: 1}

func renewed() lifecycle.Command {
	return lifecycle.Renew{Holder: "e1", Fence: 1, Lease: lease, Grace: grace}
}

func TestOutsideIsNotRestarted(t *testing.T) {
	for name, bring := range map[string][]lifecycle.Command{
		"a task that nobody claimed": nil, "a lease that ran out": {grant()}, "an answered pause": {grant(), pause(time.Hour, ""), reply()},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ref := d.submit(outside, bring...)
			d.clock.Advance(lease + grace)
			d.sweep(left)
			d.clock.Advance(day)
			d.sweep(untouched)
			if h := d.head(ref); h.Generation != 1 || d.told.restarted[ref.Task] != 0 {
				t.Errorf("generation %d, restarted %d times", h.Generation, d.told.restarted[ref.Task])
			}
			d.must(ref, grant()) // a worker comes at last, and dies
			d.clock.Advance(lease + grace)
			d.sweep(left)
			d.clock.Advance(lifecycle.DefaultLife)
			d.sweep(expired)
			if h := d.head(ref); h.State != lifecycle.Failed {
				t.Errorf("the state is %s", h.State)
			}
		})
	}
}

// A worker whose lease ran out comes back, and is looked at again when it is gone
// for good: a cancellation that it has not met is settled.
func TestOutsideCancellationIsSettled(t *testing.T) {
	d := newDesk(t)
	ref := d.submit(outside, grant())
	d.clock.Advance(lease + grace)
	d.sweep(left)
	d.must(ref, renewed(), lifecycle.RequestCancel{Principal: "p"})
	d.sweep(untouched)
	d.clock.Advance(lease + grace)
	d.sweep(left)
	if h := d.head(ref); h.State != lifecycle.Canceled {
		t.Errorf("the state is %s", h.State)
	}
}

// A worker at work is no news.
func TestOutsideIsHeld(t *testing.T) {
	d := newDesk(t)
	ref := d.submit(outside, grant())
	d.clock.Advance(lease / 2)
	d.must(ref, renewed())
	d.clock.Advance(lease - time.Second)
	d.sweep(untouched)
	d.clock.Advance(grace - time.Second)
	d.must(ref, renewed())
	d.clock.Advance(2 * time.Second)
	d.sweep(skipped)
	if h := d.head(ref); h.Holder != "e1" {
		t.Errorf("the holder is %q", h.Holder)
	}
}

// Its pauses end at their deadline.
func TestOutsidePauseExpires(t *testing.T) {
	d := newDesk(t)
	ref := d.submit(outside, grant(), pause(time.Hour, lifecycle.Canceled))
	d.clock.Advance(time.Hour)
	d.sweep(expired)
	if h := d.head(ref); h.State != lifecycle.Canceled {
		t.Errorf("the state is %s", h.State)
	}
}
