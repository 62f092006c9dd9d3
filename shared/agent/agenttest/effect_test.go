package agenttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// case 21: a process is killed in the middle of a side effect that cannot be
// repeated. Nothing runs by itself; the replay that finds the record is no conflict.
func TestHeldEffect(t *testing.T) {
	h := &hotel{}
	held := func() *agenttest.Run {
		return agenttest.Start(t, travel(h, agent.Hold()), "Plan a trip").
			CrashAfterCall("reserve").
			Reply("Oslo").
			WantHeld("reserve")
	}
	// case 19: no state is unreachable. The operator settles it either way, or gives
	// the task up.
	held().SettleDone("reserve", "R9").WantCompleted("Booked R9").WantCalls("reserve", 1)
	held().SettleNotDone("reserve").WantCompleted("Booked R…").WantCalls("reserve", 2)
	held().Cancel().WantCanceled().WantCalls("reserve", 1)
}

func TestReconciledEffect(t *testing.T) {
	for _, c := range []struct {
		name  string
		crash func(*agenttest.Run) *agenttest.Run
		calls int
	}{
		{"done", func(r *agenttest.Run) *agenttest.Run { return r.CrashAfterCall("reserve") }, 1},
		{"not done", func(r *agenttest.Run) *agenttest.Run { return r.CrashBeforeCall("reserve") }, 1},
		{"answer lost", func(r *agenttest.Run) *agenttest.Run { return r.LoseAnswer("reserve") }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &hotel{}
			asked, down := 0, true
			ask := func(_ context.Context, key string) (string, bool, error) {
				asked++
				if down {
					down = false
					return "", false, errors.New("cannot be asked now")
				}
				ref, ok := h.byKey[key]
				return ref, ok, nil
			}
			r := agenttest.Start(t, travel(h, agent.Reconcile(ask)), "Plan a trip")
			c.crash(r).Reply("Oslo").WantCompleted("Booked R1").WantCalls("reserve", c.calls)
			if asked != 2 {
				t.Errorf("asked %d times, want 2: an error leaves the effect in doubt", asked)
			}
		})
	}
}

func TestEffectInDoubtRestsUntilItsCallIsOver(t *testing.T) {
	h := &hotel{}
	r := agenttest.Start(t, travel(h), "Plan a trip").
		CrashBeforeCall("reserve").
		Reply("Oslo").
		WantCompleted("Booked R1").
		WantCalls("reserve", 1)
	if !strings.Contains(r.Transcript(), `waits: effect "reserve" is in doubt until 2100-01-01T00:00:30Z`) {
		t.Errorf("the new process did not wait until the old one's call was over:\n%s", r.Transcript())
	}
}

func TestEffectsAreKeyedByVisit(t *testing.T) {
	h := &hotel{}
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		if _, err := agent.Effect(ctx, t, "reserve", h.reserve); err != nil {
			return agent.Next{}, err
		}
		if t.State++; t.State == 3 {
			return agent.Complete("Done"), nil
		}
		return agent.Continue("one"), nil
	})
	agenttest.Start(t, a, "go").CrashBeforeCommit("one").WantCompleted("Done").WantCalls("reserve", 3)
	if len(h.byKey) != 3 {
		t.Errorf("keys %v, want one for each visit", h.byKey)
	}
}

func TestEffectWithAnotherRequestIsRefused(t *testing.T) {
	h := &hotel{}
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		_, err := agent.Effect(ctx, t, "reserve", h.reserve, agent.Request(t.Attempt))
		if err == nil {
			err = errors.New("again")
		}
		return agent.Next{}, err
	})
	agenttest.Start(t, a, "go").WantFailed("…begun with another request: 1, now 2").WantCalls("reserve", 1)
}

func TestPanicInACallLeavesItInDoubt(t *testing.T) {
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		got, err := agent.Effect(ctx, t, "call", func(context.Context, string) (string, error) {
			if t.Attempt == 1 {
				panic("nil map")
			}
			return "fine", nil
		})
		return agent.Complete(got), err
	})
	agenttest.Start(t, a, "go").WantCompleted("fine").WantCalls("call", 2)
}

func TestEffectsOfOneStepMayRunSideBySide(t *testing.T) {
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		errs := make(chan error)
		names := []string{"a", "b", "c"}
		for _, name := range names {
			go func() {
				_, err := agent.Effect(ctx, t, name, func(context.Context, string) (string, error) { return name, nil })
				errs <- err
			}()
		}
		var all error
		for range names {
			all = errors.Join(all, <-errs)
		}
		return agent.Complete("Done"), all
	})
	agenttest.Start(t, a, "go").CrashAfterCall("b").WantCompleted("Done").
		WantCalls("b", 2)
}
