package agent_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// effects makes an agent whose one step makes effects and completes.
func effects(run func(context.Context, *agent.Task[int]) error) *agent.Agent {
	return one(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		return agent.Complete("Done"), run(ctx, t)
	})
}

func answer[R any](r R) func(context.Context, string) (R, error) {
	return func(context.Context, string) (R, error) { return r, nil }
}

func TestEffectNames(t *testing.T) {
	for _, name := range []string{"", "Pay", "pay twice", "a/b", strings.Repeat("a", 65)} {
		a := effects(func(ctx context.Context, t *agent.Task[int]) error {
			_, err := agent.Effect(ctx, t, name, answer(1))
			return err
		})
		agenttest.Start(t, a, "go").WantFailed("effect … needs a name of …").WantCalls(name, 0)
	}
}

func TestEffectNameTwiceInOneStepIsRefused(t *testing.T) {
	a := effects(func(ctx context.Context, t *agent.Task[int]) error {
		var all error
		for i := range 2 {
			_, err := agent.Effect(ctx, t, "revoke", answer(i))
			all = errors.Join(all, err)
		}
		return all
	})
	agenttest.Start(t, a, "go").WantFailed(`effect "revoke" was carried out in this step already…`).WantCalls("revoke", 1)

	again := effects(func(ctx context.Context, t *agent.Task[int]) error {
		if _, err := agent.Effect(ctx, t, "revoke", answer(1)); err == nil {
			return errors.New("the first call was to fail")
		}
		_, err := agent.Effect(ctx, t, "revoke", answer(1)) // the same effect, once more
		return err
	})
	agenttest.Start(t, again, "go").FailCall("revoke", errors.New("busy")).WantCompleted("Done").WantCalls("revoke", 1)
}

func TestEffectThatCannotBeStored(t *testing.T) {
	request := effects(func(ctx context.Context, t *agent.Task[int]) error {
		_, err := agent.Effect(ctx, t, "pay", answer(1), agent.Request(math.NaN()))
		return err
	})
	agenttest.Start(t, request, "go").WantFailed(`the request of effect "pay" cannot be stored: …`).WantCalls("pay", 0)

	result := effects(func(ctx context.Context, t *agent.Task[int]) error {
		_, err := agent.Effect(ctx, t, "pay", answer(math.Inf(1)))
		return err
	})
	r := agenttest.Start(t, result, "go").WantFailed(`the result of effect "pay" cannot be stored: …`).WantCalls("pay", 1)
	if !strings.Contains(r.Transcript(), "cannot tell what became of pay") {
		t.Errorf("a call whose result was not recorded is in doubt:\n%s", r.Transcript())
	}

	large := effects(func(ctx context.Context, t *agent.Task[int]) error {
		_, err := agent.Effect(ctx, t, "pay", answer(strings.Repeat("x", agent.MaxEffectResultBytes)))
		return err
	})
	agenttest.Start(t, large, "go").WantFailed(`the result of effect "pay" has 32770 bytes, the limit is 32768…`)
}

func TestRecordedResultThatDoesNotFit(t *testing.T) {
	a := effects(func(ctx context.Context, t *agent.Task[int]) error {
		if t.Attempt == 1 {
			_, err := agent.Effect(ctx, t, "pay", answer("R1"))
			return errors.Join(err, errors.New("again"))
		}
		_, err := agent.Effect(ctx, t, "pay", answer(1))
		return err
	})
	agenttest.Start(t, a, "go").WantFailed(`the recorded result of effect "pay" does not fit int: …`).WantCalls("pay", 1)
}

func TestTimeOfACall(t *testing.T) {
	var left []time.Duration
	call := func(ctx context.Context, _ string) (int, error) {
		until, _ := ctx.Deadline()
		left = append(left, until.Sub(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
		return 1, nil
	}
	a := agent.New("one", 1, agent.Step[int]{Name: "only", Timeout: 100 * 365 * 24 * time.Hour, Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		_, err1 := agent.Effect(ctx, t, "a", call)
		_, err2 := agent.Effect(ctx, t, "b", call, agent.Within(time.Second))
		return agent.Complete("Done"), errors.Join(err1, err2)
	}})
	agenttest.Start(t, a, "go").WantCompleted("Done")
	if len(left) != 2 || left[0] != agent.DefaultEffectTimeout || left[1] != time.Second {
		t.Errorf("calls may last %v, want the default and 1s", left)
	}
	none := effects(func(ctx context.Context, t *agent.Task[int]) error {
		_, err := agent.Effect(ctx, t, "a", answer(1), agent.Within(-1))
		return err
	})
	agenttest.Start(t, none, "go").WantFailed(`effect "a" is given -1ns for its call`)
}

func TestReconcileThatErrsLeavesTheEffectInDoubt(t *testing.T) {
	asked := 0
	ask := func(context.Context, string) (int, bool, error) {
		asked++
		return 0, false, errors.New("down")
	}
	a := effects(func(ctx context.Context, t *agent.Task[int]) error {
		_, err := agent.Effect(ctx, t, "pay", answer(1), agent.Reconcile(ask))
		return err
	})
	agenttest.Start(t, a, "go").LoseAnswer("pay").WantFailed("gave up after 10 attempts: down").WantCalls("pay", 1)
	if asked != 9 {
		t.Errorf("asked %d times, want 9", asked)
	}
}

// The policy is the one under which the effect was begun; code that no longer
// knows how to ask leaves it to an operator.
func TestReconcileWithoutAQuestionIsHeld(t *testing.T) {
	a := effects(func(ctx context.Context, t *agent.Task[int]) error {
		var opts []agent.EffectOption
		if t.Attempt == 1 {
			opts = append(opts, agent.Reconcile(func(context.Context, string) (int, bool, error) { return 0, false, nil }))
		}
		_, err := agent.Effect(ctx, t, "pay", answer(1), opts...)
		return err
	})
	agenttest.Start(t, a, "go").LoseAnswer("pay").WantHeld("pay")
}
