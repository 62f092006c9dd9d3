package runner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 22, I7: the other side did it and the answer was lost: the same key is
// sent, and the recorded result is never asked for again.
func TestEffectKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			got, err := agent.Effect(ctx, tk, "pay", func(_ context.Context, key string) (string, error) {
				keys = append(keys, key)
				if len(keys) == 1 {
					return "", errors.New("timed out on the way back")
				}
				return "paid", nil
			})
			if err != nil {
				return agent.Next{}, err
			}
			if len(keys) == 2 && tk.Attempt == 2 {
				return agent.Next{}, errOops // after the effect: it must not run again
			}
			return agent.Complete(got), nil
		}))
		for out := d.invoke(time.Minute); out.Word == lifecycle.WordWait; out = d.invoke(time.Minute) {
			<-time.NewTimer(time.Duration(out.Seconds) * time.Second).C
		}
		d.wantState(a2a.TaskStateCompleted)
		if len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("keys %v, want the same one twice", keys)
		}
		list, err := d.ledger.EffectList(t.Context(), d.ref)
		if err != nil || len(list) != 1 || list[0].State != lifecycle.EffectDone || list[0].Calls != 2 {
			t.Errorf("effects %+v, %v; want one, done after two calls", list, err)
		}
	})
}

// Cases 19 and 21: the process died between the call and its record. Nobody calls
// before callUntil; the task waits without a lease and is not lost.
func TestEffectInDoubtWaitsForItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			_, err := agent.Effect(ctx, tk, "pay", func(_ context.Context, _ string) (string, error) {
				calls++
				return "paid", nil
			}, agent.Within(20*time.Second))
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete("done"), nil
		}))
		if err := d.do(lifecycle.Grant{Holder: "dead", Generation: 1, Lease: 5 * time.Second}); err != nil {
			t.Fatal(err)
		}
		digest, err := lifecycle.DigestJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.auth.BeginEffect(t.Context(), d.ref, lifecycle.EffectRequest{
			Visit: 1, Name: "pay", Policy: lifecycle.PolicyRetry, RequestDigest: digest, Holder: "dead", Fence: 1, CallUntil: time.Now().Add(20 * time.Second),
		}); err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(6 * time.Second).C // its lease is over, its call may not be
		out := d.invoke(time.Minute)
		if out.Word != lifecycle.WordWait || calls != 0 {
			t.Fatalf("outcome %+v after %d calls, want to wait without calling", out, calls)
		}
		if h := d.head(); h.Holder != "" || h.Attempt != 0 {
			t.Errorf("holder %q, %d failed attempts: the wait is no attempt and needs no lease", h.Holder, h.Attempt)
		}
		<-time.NewTimer(time.Duration(out.Seconds) * time.Second).C
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCompleted)
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// An effect that an operator must settle holds its task, and costs no attempt;
// once it is settled the task goes on with the recorded result.
func TestHeldEffectWaitsForAnOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			got, err := agent.Effect(ctx, tk, "pay", func(_ context.Context, _ string) (string, error) {
				calls++
				return "", errors.New("lost")
			}, agent.Hold())
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete(got), nil
		}))
		wait := func(out lifecycle.Outcome) { <-time.NewTimer(time.Duration(out.Seconds) * time.Second).C }
		wait(d.invoke(time.Minute))
		for range 3 {
			out := d.invoke(time.Minute)
			if out.Word != lifecycle.WordWait || out.Seconds != 3600 {
				t.Fatalf("outcome %+v, want to look again in an hour", out)
			}
			wait(out)
		}
		if err := d.auth.SettleDoubt(t.Context(), d.ref, 1, "pay", 2, lifecycle.EffectDone, []byte(`"by hand"`), "operator"); err != nil {
			t.Fatal(err)
		}
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCompleted)
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}

// A result that arrives after the lease was lost is recorded all the same: the
// call has happened.
func TestLateResultIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			_, err := agent.Effect(ctx, tk, "pay", func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done() // the lease is lost while the call is out
				return "paid", nil
			})
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete("done"), nil
		}))
		time.AfterFunc(5*time.Second, func() {
			if err := d.do(lifecycle.Restart{HolderGone: true}); err != nil {
				t.Error(err)
			}
			if err := d.do(lifecycle.Grant{Holder: "e2", Generation: 2, Lease: time.Hour}); err != nil {
				t.Error(err)
			}
		})
		d.invoke(10 * time.Minute)
		e, err := d.ledger.Effect(t.Context(), d.ref, 1, "pay")
		if err != nil || e.State != lifecycle.EffectDone || string(e.Result) != `"paid"` {
			t.Errorf("the effect is %+v, %v; want done", e, err)
		}
		d.wantState(a2a.TaskStateWorking)
	})
}

// No intent is recorded, and no call made, once a cancellation was requested.
func TestCancelStopsEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			<-time.NewTimer(3 * time.Second).C
			_, err := agent.Effect(ctx, tk, "pay", func(_ context.Context, _ string) (string, error) {
				calls++
				return "paid", nil
			})
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete("done"), nil
		}))
		time.AfterFunc(time.Second, func() {
			if err := d.do(lifecycle.RequestCancel{}); err != nil {
				t.Error(err)
			}
		})
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCanceled)
		if calls != 0 {
			t.Errorf("%d calls after the request to cancel", calls)
		}
		if list, err := d.ledger.EffectList(t.Context(), d.ref); err != nil || len(list) != 0 {
			t.Errorf("effects %+v, %v; want none", list, err)
		}
	})
}
