package journeys_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 21: with no time left, or less than none, a call is not begun: nothing is
// recorded that somebody would have to wait for, and the next attempt, which has
// time, makes the call once. A replay of the step returns what is recorded.
func TestEffectWithoutTime(t *testing.T) {
	for name, spent := range map[string]time.Duration{"0 ms left": 5 * time.Second, "too late": 7 * time.Second, "1 ms left": 5*time.Second - time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w *world
				var calls []int                   // the attempt of each
				recorded := map[int]int{}         // effects on record when an attempt begins
				bounds := map[int]time.Duration{} // what a call was given
				payer := agent.New("payer", 1, agent.Step[note]{Name: "pay", Timeout: 5 * time.Second, Run: func(ctx context.Context, tk *agent.Task[note]) (agent.Next, error) {
					list, err := w.ledger.EffectList(context.Background(), lifecycle.Ref{Tenant: node.Tenant, Task: tk.ID})
					if err != nil {
						return agent.Next{}, err
					}
					recorded[tk.Attempt] = len(list)
					if tk.Attempt == 1 {
						<-time.NewTimer(spent).C // deaf to its context
					}
					got, err := agent.Effect(ctx, tk, "pay", func(ctx context.Context, _ string) (string, error) {
						calls = append(calls, tk.Attempt)
						end, limited := ctx.Deadline()
						if !limited {
							t.Error("a call without a bound")
						}
						bounds[tk.Attempt] = time.Until(end)
						return "paid", nil
					})
					if err != nil {
						return agent.Next{}, err
					}
					if tk.Attempt <= 2 {
						return agent.Next{}, errors.New("oops") // after the effect: it is replayed
					}
					return agent.Complete(got), nil
				}})
				w = newWorld(t, payer)
				n := w.process()
				defer w.stop(n)
				var s sent
				w.must(http.MethodPost, "/message:send", send("m", "go", ""), &s)
				ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
				done := w.until("", ref.Task, time.Minute, in(a2a.TaskStateCompleted))
				if agent.Text(done.Status.Message) != "paid" {
					t.Errorf("the task says %q", agent.Text(done.Status.Message))
				}
				first := 2 // the attempt that calls
				if spent < 5*time.Second {
					first = 1
				}
				if len(calls) != 1 || calls[0] != first || bounds[first] <= 0 {
					t.Errorf("called in attempts %v with %v left, want once in attempt %d", calls, bounds, first)
				}
				if recorded[2] != 2-first {
					t.Errorf("%d effects on record before attempt 2", recorded[2])
				}
				list, err := w.ledger.EffectList(t.Context(), ref)
				if err != nil || len(list) != 1 || list[0].State != lifecycle.EffectDone || list[0].CallUntil.IsZero() {
					t.Errorf("effects %+v, %v; want one, done, with its bound", list, err)
				}
				w.verify(ref.Task)
			})
		})
	}
}

// A step that is over its time and asks for something has failed an attempt: it is
// not the ledger that has, so its retries are counted and its end says why.
func TestLateStepsAreCounted(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *agent.Task[note]) error{
		"commit": func(ctx context.Context, tk *agent.Task[note]) error { return tk.Commit(ctx) },
		"effect": func(ctx context.Context, tk *agent.Task[note]) error {
			_, err := agent.Effect(ctx, tk, "pay", func(context.Context, string) (string, error) { return "paid", nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				w := newWorld(t, agent.New("late", 1, agent.Step[note]{Name: "a", Timeout: 5 * time.Second, Retry: agent.Retry{Attempts: 3}, Run: func(ctx context.Context, tk *agent.Task[note]) (agent.Next, error) {
					attempts++
					<-time.NewTimer(6 * time.Second).C // deaf to its context
					return agent.Next{}, ask(ctx, tk)
				}}))
				n := w.process()
				defer w.stop(n)
				id := w.submitOnly("late")
				w.until("", id, time.Minute, in(a2a.TaskStateFailed))
				ended := w.verify(id)
				entries, err := w.ledger.Entries(t.Context(), ended.Ref(), ended.Seq-1, 1)
				if err != nil {
					t.Fatal(err)
				}
				last, err := entries[0].Event()
				if err != nil || !strings.Contains(last.Ending.Reason, "took longer than 5s") || attempts != 3 {
					t.Errorf("after %d attempts the task ended with %+v, %v; want three, and that the step took too long", attempts, last.Ending, err)
				}
			})
		})
	}
}
