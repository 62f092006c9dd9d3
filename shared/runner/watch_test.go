package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// watcher notes what it is told.
type watcher struct{ told []string }

func (w *watcher) EffectHeld(_ context.Context, ref lifecycle.Ref, effect string) {
	w.told = append(w.told, "held "+effect+" of "+string(ref.Task))
}

func (w *watcher) VersionUnknown(_ context.Context, ref lifecycle.Ref) {
	w.told = append(w.told, "unknown "+string(ref.Task))
}

// An effect that is held for an operator is told of at each look; the call that came
// back without an answer is the ledger's to see.
func TestHeldEffectIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			got, err := agent.Effect(ctx, tk, "pay", func(context.Context, string) (string, error) { return "", errors.New("lost") }, agent.Hold())
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete(got), nil
		}))
		w := &watcher{}
		d.runner.Watch = w
		d.invoke(time.Minute)
		want := "held pay of " + string(d.ref.Task)
		for looks := range 3 {
			if !slices.Equal(w.told, slices.Repeat([]string{want}, looks)) {
				t.Fatalf("after %d looks: %q", looks, w.told)
			}
			<-time.NewTimer(lifecycle.HoldLook + time.Second).C
			d.invoke(time.Minute)
		}
	})
}

func TestUnknownVersionIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(context.Context, task) (agent.Next, error) { return agent.Complete("done"), nil }))
		w := &watcher{}
		d.runner.Watch, d.runner.Agents = w, none{}
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordWait || !slices.Equal(w.told, []string{"unknown " + string(d.ref.Task)}) {
			t.Errorf("%+v, %q", out, w.told)
		}
	})
}

// none is an empty catalog.
type none struct{}

func (none) Lookup(string, int) (*agent.Agent, bool) { return nil, false }
