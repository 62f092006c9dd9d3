package dispatch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// watcher notes what it is told.
type watcher struct{ told []string }

func (w *watcher) ExecutionFailed(_ context.Context, h lifecycle.Head, execution string) {
	w.told = append(w.told, "fault of "+string(h.Task)+" in "+execution)
}

func (w *watcher) TaskFailed(_ context.Context, ref lifecycle.Ref, execution string) {
	w.told = append(w.told, "end of "+string(ref.Task)+" in "+execution)
}

// A fault in an execution is told of, and that an execution fails because its task did;
// a pause that ran out is no fault, and a task that is well is none.
func TestFailuresAreWatched(t *testing.T) {
	for name, c := range map[string]struct {
		before []lifecycle.Command
		later  time.Duration
		fault  bool
		end    bool
	}{
		"a failed run":           {[]lifecycle.Command{grant(execution)}, 0, true, false},
		"a pause":                {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired)}, 0, false, false},
		"a pause that ran out":   {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired)}, 2 * time.Hour, false, true},
		"a task that failed":     {[]lifecycle.Command{grant(execution), end(lifecycle.VerbFail)}, 0, false, true},
		"a task that is done":    {[]lifecycle.Command{grant(execution), end(lifecycle.VerbComplete)}, 0, false, false},
		"another one's business": {[]lifecycle.Command{grant("e0")}, 0, false, false},
	} {
		d := newDesk(t)
		w := &watcher{}
		d.must(c.before...)
		d.clock.Advance(c.later)
		h := d.handler(lifecycle.Outcome{}, nil)
		h.Dispatcher.Watch = w
		if _, err := d.invoke(h, dispatch.OpSettle, ""); err != nil {
			t.Fatal(err)
		}
		var want []string
		if c.fault {
			want = append(want, "fault of "+string(d.ref.Task)+" in "+execution)
		}
		if c.end {
			want = append(want, "end of "+string(d.ref.Task)+" in "+execution)
		}
		if !slices.Equal(w.told, want) {
			t.Errorf("%s: told %q, want %q", name, w.told, want)
		}
	}
}
