package webhook_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// Case 52: a receiver that takes its time gets one update at a time, however many
// senders there are. Each attempt is under a lease.
func TestManySenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", slowly(14*time.Second))
		w.commit("vvviv")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				s := w.sender()
				for {
					res, err := s.Send(t.Context(), at, budget)
					if err != nil {
						t.Error(err)
					}
					if res.Word == webhook.Done {
						return
					}
					pass(time.Second) // also while another holds it
				}
			})
		}
		pass(20 * time.Second)
		w.hint(w.sender(), w.commit("vF"))
		all.Wait()
		w.receiver(at).wantUpdates(t, 1, 2, 3, 5, 6, 7)
		if n := len(w.receiver(at).requests()); n != 6 {
			t.Errorf("%d requests for 6 updates", n)
		}
	})
}

// What comes while a sender is about to rest is delivered by that sender or by the one
// that the hint sets to work: no update stays behind.
func TestMoreBeforeRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		s, calls := w.sender(), 0
		s.Updates = func(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
			updates, err := w.source(ctx, at, e, after, limit)
			if calls++; calls > 1 && after < 3 { // after it was read under the lease
				if now, later, err := w.sender().Hint(ctx, w.commit("v")); err != nil || len(now)+len(later) != 0 {
					t.Errorf("a hint about an endpoint that is held: %v, %v, %v", now, later, err)
				}
			}
			return updates, err
		}
		w.commit("v")
		if res := w.send(s, at); res.Word != webhook.Done || res.Sent != 4 {
			t.Errorf("%+v", res)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3, 4)
	})
}

// A hint about an entry that was never committed does not keep a sender busy for ever.
func TestHintOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		w.commit("v")
		if err := w.ledger.Want(t.Context(), at.Ref, at.ID, 9, time.Now()); err != nil {
			t.Fatal(err)
		}
		res := w.send(w.sender(), at)
		if d := w.delivery(at); res.Word != webhook.Wait || d.Cursor != 1 || d.Attempts[1].Error != "updates" {
			t.Errorf("%+v: %+v", res, d)
		}
	})
}

// Hints come late, twice, in any order, or never; the sweep finds what they missed.
func TestUntidyHints(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", script(200, 500, 200))
			dice := rand.New(rand.NewPCG(seed, 0))
			var changes []ledger.Change
			for range 10 {
				c := w.commit("v")
				for range dice.IntN(3) {
					changes = append(changes, c)
				}
			}
			w.commit("F")
			dice.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			var all sync.WaitGroup
			for _, c := range changes {
				all.Go(func() { w.hint(w.sender(), c) })
			}
			all.Wait()
			sweeper := w.sweeper(w.sender())
			for range 3 {
				pass(webhook.CheckEvery + grace)
				if _, err := sweeper.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(changes) == 0 { // never made due: the door does that when it is registered
				w.deliver(w.sender(), at)
			}
			w.receiver(at).wantUpdates(t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			if d := w.delivery(at); !d.DueAt.IsZero() {
				t.Errorf("seed %d: at the end %+v", seed, d)
			}
		})
	}
}

// process is a sender whose calls go through faults; requests and reads of updates
// are points at which it can die.
func (w *world) process(f *ledgertest.Faults) *webhook.Sender {
	s := w.sender()
	s.Endpoints = f.Ledger(w.ledger)
	s.Updates = func(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
		return mortally(f.Crash, "Updates", func() ([]webhook.Update, error) { return w.source(ctx, at, e, after, limit) })
	}
	s.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
		return mortally(f.Crash, "POST", func() (*http.Response, error) { return w.RoundTrip(r) })
	})
	return s
}

func mortally[T any](c *ledgertest.Crash, name string, do func() (T, error)) (T, error) {
	var none T
	if err := c.Point("before " + name); err != nil {
		return none, err
	}
	answer, err := do()
	if crashed := c.Point("after " + name); crashed != nil {
		return none, crashed
	}
	return answer, err
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The process dies before or in each of its calls, requests included. The next one
// knows nothing of it: a hint that was not answered comes again, and the sweep runs.
func TestCrashes(t *testing.T) {
	calls := 1
	for point := 0; point <= calls; point++ {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", script(200, 500, 200))
				crash := &ledgertest.Crash{At: point, After: after}
				err := w.story(t, w.process(&ledgertest.Faults{Crash: crash}))
				if point == 0 {
					calls = crash.Calls()
				}
				if died := errors.Is(err, ledgertest.ErrCrashed); died != (point > 0) || !died && err != nil {
					t.Fatalf("point %d of %d: %v", point, calls, err)
				}
				w.finish(w.sender(), at)
				if n := len(w.receiver(at).requests()); n > 5 {
					t.Errorf("point %d: %d requests for 3 updates, a failure and a crash", point, n)
				}
			})
		}
	}
	if calls < 25 {
		t.Errorf("only %d points: the crash test has lost its process", calls)
	}
}

// A ledger that fails, loses answers and repeats writes: the order holds, and what can
// be recognised is not sent again.
func TestFaults(t *testing.T) {
	repeated := 0
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", script(200, 500, 200))
			plan := ledgertest.Seeded(seed, 30, ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Conflicted, ledgertest.Retried, ledgertest.Doubled)
			s := w.process(&ledgertest.Faults{Plan: plan, Crash: &ledgertest.Crash{}})
			for range 5 {
				if w.story(t, s) == nil {
					break
				}
				pass(time.Minute)
			}
			w.finish(w.sender(), at)
			repeated += len(w.receiver(at).requests()) - 4
		})
	}
	if repeated > 15 {
		t.Errorf("%d requests too many in 60 runs: lost answers are not recognised", repeated)
	}
}

// finish is the next process, the sweep, and what must be true in the end.
func (w *world) finish(s *webhook.Sender, at ledger.DueDelivery) {
	w.t.Helper()
	if err := w.story(w.t, s); err != nil {
		w.t.Fatal(err)
	}
	for range 4 {
		pass(webhook.CheckEvery)
		if _, err := w.sweeper(s).Run(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	w.receiver(at).wantUpdates(w.t, 1, 2, 4)
	if d := w.delivery(at); d.Cursor != 4 || !d.DueAt.IsZero() || !d.Idle() {
		w.t.Errorf("at the end %+v", d)
	}
}

// story is a process that is told of a task's updates and delivers them.
func (w *world) story(t *testing.T, s *webhook.Sender) error {
	for i, kinds := range []string{"v", "viF"} {
		if len(w.updates) < 3*i+1 {
			w.commit(kinds)
		}
		due, later, err := s.Hint(t.Context(), w.change(uint64(3*i+1)))
		if err != nil {
			return err
		}
		due = append(due, later...)
		for _, at := range due {
			for {
				res, err := s.Send(t.Context(), at, budget)
				if err != nil {
					return err
				}
				if res.Word == webhook.Done || res.Held {
					break
				}
				pass(time.Duration(res.Seconds) * time.Second)
			}
		}
	}
	return nil
}

// A write that was done, and whose answer was lost, is recognised.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		w.commit("vvF")
		s := w.process(&ledgertest.Faults{Plan: ledgertest.Always("Deliver", ledgertest.Retried), Crash: &ledgertest.Crash{}})
		if res := w.send(s, at); res != (webhook.Result{Word: webhook.Done, Sent: 3}) || len(w.receiver(at).requests()) != 3 {
			t.Errorf("%+v after %d requests", res, len(w.receiver(at).requests()))
		}
	})
}

// A sender that is cut off for longer than its lease finds its place taken and sends
// nothing more.
func TestOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		w.commit("vF")
		frozen := w.sender()
		frozen.Updates = func(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
			updates, err := w.source(ctx, at, e, after, limit)
			pass(2 * webhook.Lease)
			w.deliver(w.sender(), at)
			return updates, err
		}
		res, err := frozen.Send(t.Context(), at, 5*time.Minute)
		if err != nil || !res.Held || res.Sent != 0 {
			t.Errorf("%+v, %v", res, err)
		}
		if n := len(w.receiver(at).requests()); n != 2 {
			t.Errorf("%d requests for 2 updates", n)
		}
		w.receiver(at).wantUpdates(t, 1, 2)
	})
}

// Whoever stops the process is not the receiver: no attempt is counted.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", slowly(10*time.Second))
		w.commit("v")
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := w.sender().Send(ctx, at, budget); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped: %v", err)
		}
		if d := w.delivery(at); w.logs.Len() > 0 || d.Failures != 0 || len(d.Attempts) != 0 || d.DueAt.IsZero() || d.DueAt.After(time.Now().Add(webhook.CheckEvery)) {
			t.Errorf("stopped: %+v", d)
		}
	})
}

func TestRemovedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := ledger.DueDelivery{}
		at = w.endpoint("one", func(int, *http.Request) (*http.Response, error) {
			return status(200), w.ledger.DeleteEndpoint(context.Background(), at.Ref, at.ID)
		})
		w.commit("vv")
		if res := w.send(w.sender(), at); res.Word != webhook.Done || res.Sent != 1 {
			t.Errorf("%+v", res)
		}
		if n := len(w.receiver(at).requests()); n != 1 {
			t.Errorf("%d requests, one was before the removal", n)
		}
	})
}
