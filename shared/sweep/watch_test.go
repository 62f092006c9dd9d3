package sweep_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// watcher notes how often in a row nobody had taken a task.
type watcher struct{ untaken []int }

func (w *watcher) Untaken(_ context.Context, h lifecycle.Head) {
	w.untaken = append(w.untaken, h.Untaken)
}

// Each restart of a task that nobody takes is told of, with how often that was so; a
// task that waits for somebody is no such task.
func TestUntakenIsWatched(t *testing.T) {
	d := newDesk(t)
	w := &watcher{}
	d.sweeper.Watch = w
	ref := d.task()
	waits := d.task(lifecycle.Grant{Holder: "g1", Generation: 1, Lease: lease, Grace: grace}, lifecycle.Report{Verb: lifecycle.VerbPause, Next: "b", Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: day}})
	for n := range 3 {
		d.clock.Advance(d.head(ref).DueAt.Sub(d.clock.Now()) + time.Millisecond)
		d.sweep(sweep.Found{Looked: 1, Restarted: 1})
		if want := []int{0, 1, 2}[:n+1]; !slices.Equal(w.untaken, want) {
			t.Errorf("told %v, want %v", w.untaken, want)
		}
	}
	if h := d.head(waits); h.Pause == nil {
		t.Errorf("%+v", h)
	}
}
