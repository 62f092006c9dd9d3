package journeys_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// work is a step's work of so long, deaf to everything.
func work(d time.Duration) { <-time.NewTimer(d).C }

// Case 48, across two processes: a cancellation through one against the completion
// by the other. In the first second of the step a commit is still to come, in which
// the holder meets the request; in the second one it had got there and completes,
// with the request in its history; then it is too late.
func TestCancelRacesCompletion(t *testing.T) {
	duel{
		from: 100 * time.Millisecond, to: 3 * time.Second, tie: 2 * time.Second,
		outcomes: []string{"canceled by its holder", "completed, and was asked", "completed before"},
		round: func(t *testing.T, at time.Duration) string {
			a := newWorld(t, agent.New("racer", 1, agent.Step[note]{Name: "run", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				work(time.Second)
				if err := t.Commit(ctx); err != nil {
					return agent.Next{}, err
				}
				work(time.Second)
				return agent.Complete("done"), nil
			}}))
			b := a.beside()
			na, nb := a.process(), b.process()
			defer a.stop(na)
			defer b.stop(nb)
			began := time.Now()
			id := a.submitOnly("race")
			got := b.cancelAt(began.Add(at), id)
			e := b.judge(id, got)
			switch {
			case e.canceledBy("runner"):
				return "canceled by its holder"
			case e.state == a2a.TaskStateCompleted && e.asked:
				if !got.tooLate {
					t.Errorf("the loser got %d", got.status)
				}
				return "completed, and was asked"
			case e.state == a2a.TaskStateCompleted && got.tooLate:
				return "completed before"
			}
			return string(e.state) + " by " + e.by
		},
	}.run(t)
}

// A cancellation against the holder's pause: the holder meets it and asks nothing,
// or the question is withdrawn and the execution that is parked on it ends.
func TestCancelRacesPause(t *testing.T) {
	duel{
		from: 500 * time.Millisecond, to: 1500 * time.Millisecond, tie: time.Second,
		outcomes: []string{"canceled before the question", "canceled with the question open"},
		round: func(t *testing.T, at time.Duration) string {
			w := newWorld(t, agent.New("asker", 1, agent.Step[note]{Name: "ask", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
				work(time.Second)
				return agent.Pause("Which city?", "ask", agent.For(time.Hour)), nil
			}}))
			n := w.process()
			defer w.stop(n)
			began := time.Now()
			id := w.submitOnly("race")
			e := w.judge(id, w.cancelAt(began.Add(at), id))
			w.quiet(n)
			switch {
			case e.canceledBy("runner") && !e.paused:
				return "canceled before the question"
			case e.canceledAtOnce() && e.paused:
				return "canceled with the question open"
			}
			return string(e.state) + " by " + e.by
		},
	}.run(t)
}

// rests is a race against an agent that works a second, rests a second, and works
// another one. What rests is canceled at once and never works again.
func rests(t *testing.T, rest func(t *agent.Task[note]) (agent.Next, error)) duel {
	t.Helper()
	return duel{
		from: 1100 * time.Millisecond, to: 3800 * time.Millisecond, tie: 2 * time.Second, // when the next attempt begins
		outcomes: []string{"canceled while it rested", "canceled by its holder", "completed before"},
		round: func(t *testing.T, at time.Duration) string {
			var last atomic.Int64 // when somebody began to work
			step := func(again bool) func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				return func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
					last.Store(time.Now().UnixNano())
					work(time.Second)
					if !again && t.Attempt == 1 {
						return rest(t)
					}
					if err := t.Commit(ctx); err != nil {
						return agent.Next{}, err
					}
					return agent.Complete("done"), nil
				}
			}
			w := newWorld(t, agent.New("rester", 1, agent.Step[note]{Name: "work", Run: step(false)}, agent.Step[note]{Name: "more", Run: step(true)}))
			n := w.process()
			defer w.stop(n)
			began := time.Now()
			id := w.submitOnly("race")
			got := w.cancelAt(began.Add(at), id)
			e := w.judge(id, got)
			work(10 * time.Second) // in which nothing may begin
			w.quiet(n)
			if begun := time.Unix(0, last.Load()); begun.After(e.at) {
				t.Errorf("ended at %s, and somebody began to work at %s", e.at.Sub(began), begun.Sub(began))
			}
			switch {
			case e.canceledAtOnce():
				return "canceled while it rested"
			case e.canceledBy("runner"):
				return "canceled by its holder"
			case e.state == a2a.TaskStateCompleted && got.tooLate:
				return "completed before"
			}
			return string(e.state) + " by " + e.by
		},
	}
}

// A cancellation against the backoff of a failed attempt and the next attempt.
func TestCancelRacesRetry(t *testing.T) {
	rests(t, func(*agent.Task[note]) (agent.Next, error) { return agent.Next{}, errors.New("not yet") }).run(t)
}

// A cancellation against a sleep and its end.
func TestCancelRacesSleep(t *testing.T) {
	rests(t, func(*agent.Task[note]) (agent.Next, error) { return agent.Sleep(time.Second, "more"), nil }).run(t)
}

// grave is a process that has died: none of its calls gets through any more.
type grave struct {
	dead   atomic.Bool
	buried chan struct{} // closed at the end of the test
}

func (g *grave) faults() *ledgertest.Faults {
	return &ledgertest.Faults{
		Plan: func(ledgertest.Call) ledgertest.Fault {
			if g.dead.Load() {
				return ledgertest.Delayed
			}
			return ledgertest.None
		},
		Delay: func(context.Context, ledgertest.Call) error { return ledgertest.ErrCrashed },
	}
}

// A cancellation against the death of the holder. While its lease lasts, nobody
// knows: the request is a mark, and whoever finds the lease run out cancels in its
// place. Then it is canceled at once, until a successor works; that one meets the
// request, or has completed.
func TestCancelRacesDeadHolder(t *testing.T) {
	duel{
		from: time.Millisecond, to: 110 * time.Second, tie: lifecycle.DefaultLease + lifecycle.DefaultGrace, // when the sweep looks
		outcomes: []string{"canceled in its place", "canceled at once", "canceled by its successor", "completed by its successor"},
		round: func(t *testing.T, at time.Duration) string {
			g := &grave{buried: make(chan struct{})}
			var runs atomic.Int32
			a := newWorld(t, agent.New("dying", 1, agent.Step[note]{Name: "work", Timeout: 10 * time.Minute, Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				if runs.Add(1) == 1 {
					g.dead.Store(true)
					<-g.buried
					return agent.Next{}, ctx.Err()
				}
				for range 20 {
					work(time.Second)
					if err := t.Commit(ctx); err != nil {
						return agent.Next{}, err
					}
				}
				return agent.Complete("done"), nil
			}}))
			b := a.beside()
			na, err := a.tryProcess(g.faults().Ledger(a.ledger), a.blobs)
			if err != nil {
				t.Fatal(err)
			}
			nb := b.process()
			defer a.stop(na)
			defer close(g.buried)
			defer b.stop(nb)
			began := time.Now()
			id := a.submitOnly("race")
			got := b.cancelAt(began.Add(at), id)
			e := b.judge(id, got)
			b.quiet(nb)
			switch {
			case e.canceledAtOnce() && runs.Load() == 1:
				return "canceled at once"
			case e.canceledBy("runner"):
				return "canceled by its successor"
			case e.state == a2a.TaskStateCanceled && runs.Load() == 1:
				return "canceled in its place"
			case e.state == a2a.TaskStateCompleted && got.tooLate:
				return "completed by its successor"
			}
			return string(e.state) + " by " + e.by
		},
	}.run(t)
}

// A cancellation against the answer to a question. Who is second is told: the
// answer that the task has ended, or the cancellation that it has completed. What
// the answer was to set off happens once or not at all.
func TestCancelRacesAnswer(t *testing.T) {
	duel{
		from: 500 * time.Millisecond, to: 2 * time.Second, tie: time.Second,
		outcomes: []string{"canceled before the answer", "answered, then canceled", "answered and completed"},
		round: func(t *testing.T, at time.Duration) string {
			var told atomic.Int32
			w := newWorld(t, agent.New("asker", 1,
				agent.Step[note]{Name: "ask", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
					return agent.Pause("Which city?", "tell", agent.For(time.Hour)), nil
				}},
				agent.Step[note]{Name: "tell", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
					work(500 * time.Millisecond)
					_, err := agent.Effect(ctx, t, "tell", func(context.Context, string) (string, error) {
						told.Add(1)
						return "told", nil
					})
					if err != nil {
						return agent.Next{}, err
					}
					return agent.Complete("You said " + agent.Text(t.Message)), nil
				}},
			))
			n := w.process()
			defer w.stop(n)
			began := time.Now()
			id := w.submitOnly("race")
			answered := make(chan int, 1)
			go func() {
				work(time.Until(began.Add(time.Second)))
				status, err := w.call(http.MethodPost, "/message:send", reply("r", "Oslo", id), nil)
				if err != nil {
					t.Error(err)
				}
				answered <- status
			}()
			got := w.cancelAt(began.Add(at), id)
			reply := <-answered
			e := w.judge(id, got)
			w.quiet(n)
			if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[e.replied]; reply != want {
				t.Errorf("the reply is in the history: %t, and got %d", e.replied, reply)
			}
			if want := int32(len(e.effects)); told.Load() != want || e.state == a2a.TaskStateCanceled && want != 0 {
				t.Errorf("%s: told %d times, %d on record", e.state, told.Load(), want)
			}
			switch canceled := e.state == a2a.TaskStateCanceled; {
			case canceled && !e.replied:
				return "canceled before the answer"
			case canceled:
				return "answered, then canceled"
			case e.state == a2a.TaskStateCompleted && got.tooLate:
				return "answered and completed"
			}
			return string(e.state) + " by " + e.by
		},
	}.run(t)
}

// A cancellation against an effect that is about to start. One that is refused
// because of the request was never called; one that has begun is recorded, and
// then the holder meets the request.
func TestCancelRacesEffect(t *testing.T) {
	duel{
		from: 400 * time.Millisecond, to: 2 * time.Second, tie: time.Second,
		outcomes: []string{"refused and never called", "called, then canceled", "completed before"},
		round: func(t *testing.T, at time.Duration) string {
			var calls atomic.Int32
			w := newWorld(t, agent.New("payer", 1, agent.Step[note]{Name: "pay", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				work(time.Second)
				_, err := agent.Effect(ctx, t, "pay", func(context.Context, string) (string, error) {
					calls.Add(1)
					work(500 * time.Millisecond)
					return "paid", nil
				})
				if err != nil {
					return agent.Next{}, err
				}
				if err := t.Commit(ctx); err != nil {
					return agent.Next{}, err
				}
				return agent.Complete("paid"), nil
			}}))
			n := w.process()
			defer w.stop(n)
			began := time.Now()
			id := w.submitOnly("race")
			got := w.cancelAt(began.Add(at), id)
			e := w.judge(id, got)
			w.quiet(n)
			if calls.Load() != int32(len(e.effects)) {
				t.Errorf("called %d times, %d on record", calls.Load(), len(e.effects))
			}
			for _, f := range e.effects {
				if f.State != lifecycle.EffectDone || string(f.Result) != `"paid"` || f.Calls != 1 {
					t.Errorf("effect %+v", f)
				}
			}
			switch canceled := e.state == a2a.TaskStateCanceled; {
			case canceled && calls.Load() == 0:
				return "refused and never called"
			case canceled:
				return "called, then canceled"
			case e.state == a2a.TaskStateCompleted && got.tooLate:
				return "completed before"
			}
			return string(e.state) + " by " + e.by
		},
	}.run(t)
}

// A request that meets the holder in the middle of a call cuts the call off. What
// became of it nobody knows then: it is on record as in doubt, not as begun.
func TestCancelCutsACall(t *testing.T) {
	duel{
		from: time.Second, to: 38 * time.Second, tie: 20 * time.Second, // when the lease is renewed for the last time
		outcomes: []string{"cut off, in doubt", "called, then canceled", "completed before"},
		round: func(t *testing.T, at time.Duration) string {
			w := newWorld(t, agent.New("payer", 1, agent.Step[note]{Name: "pay", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				_, err := agent.Effect(ctx, t, "pay", func(ctx context.Context, _ string) (string, error) {
					select {
					case <-time.NewTimer(28 * time.Second).C:
						return "paid", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				})
				if err != nil {
					return agent.Next{}, err
				}
				if err := t.Commit(ctx); err != nil {
					return agent.Next{}, err
				}
				return agent.Complete("paid"), nil
			}}))
			n := w.process()
			defer w.stop(n)
			began := time.Now()
			id := w.submitOnly("race")
			got := w.cancelAt(began.Add(at), id)
			e := w.judge(id, got)
			w.quiet(n)
			if len(e.effects) != 1 {
				t.Fatalf("effects %+v", e.effects)
			}
			switch state := e.effects[0].State; {
			case e.state == a2a.TaskStateCanceled && state == lifecycle.EffectInDoubt:
				return "cut off, in doubt"
			case e.state == a2a.TaskStateCanceled && state == lifecycle.EffectDone:
				return "called, then canceled"
			case e.state == a2a.TaskStateCompleted && state == lifecycle.EffectDone && got.tooLate:
				return "completed before"
			}
			return string(e.state) + " by " + e.by + " with the effect " + string(e.effects[0].State)
		},
	}.run(t)
}
