package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// watcher notes what it is told.
type watcher struct{ told []string }

func (w *watcher) EffectHeld(_ context.Context, ref lifecycle.Ref, effect string) {
	w.told = append(w.told, "held "+effect+" of "+string(ref.Task))
}

func (w *watcher) EffectOpen(_ context.Context, ref lifecycle.Ref, effect string) {
	w.told = append(w.told, "open "+effect+" of "+string(ref.Task))
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

// A call whose end could not be recorded is told of when its invocation ends, also where
// the step makes nothing of it and its task ends; one that was recorded is not, and one
// that was recorded though the answer was lost is not either.
func TestOpenEffectIsWatched(t *testing.T) {
	for name, c := range map[string]struct {
		fault ledgertest.Plan
		call  func() (string, error)
		open  bool
	}{
		"recorded":             {nil, func() (string, error) { return "paid", nil }, false},
		"in doubt":             {nil, func() (string, error) { return "", errors.New("lost") }, false},
		"not recorded":         {ledgertest.Always("Settle", ledgertest.FailBefore), func() (string, error) { return "paid", nil }, true},
		"a panic":              {nil, func() (string, error) { panic("out of order") }, true},
		"recorded, answerless": {ledgertest.On("Settle", ledgertest.FailAfter, 1), func() (string, error) { return "paid", nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, steps(func(ctx context.Context, tk task) (next agent.Next, _ error) {
					defer func() { _ = recover(); next = agent.Complete("whatever came of it") }()
					_, _ = agent.Effect(ctx, tk, "pay", func(context.Context, string) (string, error) { return c.call() })
					return agent.Complete("whatever came of it"), nil
				}))
				faults := &ledgertest.Faults{Plan: c.fault}
				d.runner.Authority = &ledger.Authority{Ledger: faults.Ledger(d.runner.Authority.Ledger), Now: d.runner.Authority.Now, NewID: d.runner.Authority.NewID}
				w := &watcher{}
				d.runner.Watch = w
				d.invoke(time.Minute)
				var want []string
				if c.open {
					want = []string{"open pay of " + string(d.ref.Task)}
				}
				if !slices.Equal(w.told, want) {
					t.Errorf("told %q, want %q", w.told, want)
				}
			})
		})
	}
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
