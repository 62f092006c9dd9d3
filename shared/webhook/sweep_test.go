package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

func (w *world) sweeper(s *webhook.Sender) *webhook.Sweeper {
	return &webhook.Sweeper{
		Sender: s, Head: w.head, Page: 3, Most: 100, Beside: 4,
		Go: func(ctx context.Context, at ledger.DueDelivery) error {
			_, err := s.Send(ctx, at, budget)
			return err
		},
	}
}

func (w *world) sweep(s *webhook.Sweeper, want webhook.Swept) {
	w.t.Helper()
	if got, err := s.Run(w.t.Context()); err != nil || got != want {
		w.t.Errorf("swept %+v, %v, want %+v", got, err, want)
	}
}

// A hint was lost: the idle endpoint is compared with its task. While the task lives
// somebody looks again and again; when it has ended, once.
func TestSweepFindsLostHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		s := w.sender()
		sweeper := w.sweeper(s)
		w.hint(s, w.commit("v"))
		w.sweep(sweeper, webhook.Swept{})
		pass(webhook.CheckEvery)
		w.sweep(sweeper, webhook.Swept{Looked: 1, Settled: 1})
		w.commit("vi")
		pass(webhook.CheckEvery - 1)
		w.sweep(sweeper, webhook.Swept{})
		pass(1)
		w.sweep(sweeper, webhook.Swept{Looked: 1, Behind: 1})
		w.receiver(at).wantUpdates(t, 1, 2)
		w.commit("f")
		pass(webhook.CheckEvery)
		w.sweep(sweeper, webhook.Swept{Looked: 1, Behind: 1})
		if d := w.delivery(at); !d.DueAt.IsZero() || d.Cursor != 4 {
			t.Errorf("at the end: %+v", d)
		}
	})
}

// A sender that had everything died before it could say so.
func TestSweepSettlesWhatHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, d *ledger.Delivery)
		want   webhook.Swept
	}{
		"has everything":  {func(w *world, d *ledger.Delivery) { w.commit("F"); d.Cursor = 1 }, webhook.Swept{Looked: 1, Settled: 1}},
		"gone":            {func(_ *world, d *ledger.Delivery) { d.State = ledger.DeliveryDisabled }, webhook.Swept{Looked: 1, Settled: 1}},
		"given up":        {func(_ *world, d *ledger.Delivery) { d.State = ledger.DeliveryGivenUp }, webhook.Swept{Looked: 1, Settled: 1}},
		"purged":          {func(*world, *ledger.Delivery) {}, webhook.Swept{Looked: 1, Settled: 1}},
		"to be tried":     {func(_ *world, d *ledger.Delivery) { d.NextAt = time.Now().Add(1) }, webhook.Swept{Looked: 1, Skipped: 1}},
		"held":            {func(_ *world, d *ledger.Delivery) { d.Holder, d.LeaseUntil = "h", time.Now().Add(1) }, webhook.Swept{Looked: 1, Skipped: 1}},
		"holder has died": {func(_ *world, d *ledger.Delivery) { d.Holder, d.LeaseUntil = "h", time.Now() }, webhook.Swept{Looked: 1, Behind: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", nil)
				sweeper := w.sweeper(w.sender())
				if name == "purged" {
					sweeper.Head = func(context.Context, ledger.DueDelivery) (uint64, bool, error) { return 0, false, ledger.ErrNotFound }
				}
				d := ledger.Delivery{Revision: 1, Incarnation: "made-one", DueAt: time.Now()}
				c.change(w, &d)
				if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, d); err != nil {
					t.Fatal(err)
				}
				w.sweep(sweeper, c.want)
				if d := w.delivery(at); c.want.Settled > 0 != d.DueAt.IsZero() {
					t.Errorf("afterwards due at %v", d.DueAt)
				}
			})
		})
	}
}

// A page and more of endpoints that must be skipped, and some that cannot be handled,
// do not keep the sweep from the others, whatever it may look at in one run.
func TestSweepGoesPast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.sender()
		sweeper := w.sweeper(s)
		sweeper.Most = 4
		w.commit("F")
		var behind []ledger.DueDelivery
		for i := range 13 {
			at := w.endpoint(fmt.Sprintf("e%02d", i), nil)
			d := ledger.Delivery{Revision: 1, Incarnation: "made-" + at.ID, DueAt: time.Now(), Holder: "somebody", LeaseUntil: time.Now().Add(time.Hour)}
			if i > 10 {
				d.Holder, d.LeaseUntil = "", time.Time{}
				behind = append(behind, at)
			}
			if i == 11 {
				w.receiver(at).answer = func(int, *http.Request) (*http.Response, error) { pass(10 * time.Second); return status(500), nil }
			}
			if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, d); err != nil {
				t.Fatal(err)
			}
		}
		head, trouble := sweeper.Head, true
		sweeper.Head = func(ctx context.Context, at ledger.DueDelivery) (uint64, bool, error) {
			if at == behind[0] && trouble {
				trouble = false
				return 0, false, errors.New("a moment of trouble")
			}
			return head(ctx, at)
		}
		w.sweep(sweeper, webhook.Swept{Looked: 4, Skipped: 4})
		w.sweep(sweeper, webhook.Swept{Looked: 4, Skipped: 4})
		w.sweep(sweeper, webhook.Swept{Looked: 4, Skipped: 3, Failed: 1})
		w.sweep(sweeper, webhook.Swept{Looked: 1, Behind: 1})
		w.receiver(behind[1]).wantUpdates(t, 1)
		for range 3 { // from the beginning again
			if _, err := sweeper.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.receiver(behind[0]).requests()); n != 1 {
			t.Errorf("%d requests where there was trouble", n)
		}
	})
}

// An endpoint that fails often leaves the fast path; it gets what is new with what it
// lacks already.
func TestHintLeavesOutWhoFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bad, good := w.endpoint("bad", script(500)), w.endpoint("good", nil)
		s := w.sender()
		w.commit("v")
		for range webhook.SlowAfter {
			res := w.send(s, bad)
			pass(time.Duration(res.Seconds) * time.Second)
		}
		due, later, err := s.Hint(t.Context(), w.commit("v"))
		if err != nil || len(due) != 1 || due[0] != good || len(later) != 0 {
			t.Errorf("due are %v and %v, %v", due, later, err)
		}
		if d := w.delivery(bad); d.Wanted > 2 || d.Failures != webhook.SlowAfter {
			t.Errorf("%+v", d)
		}
		w.send(s, good)
		w.receiver(good).wantUpdates(t, 1, 2)
	})
}

func TestReplayWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(410, 200))
		s := w.sender()
		w.commit("vvF")
		if res := w.deliver(s, at); res.State != ledger.DeliveryDisabled {
			t.Errorf("%+v", res)
		}
		if err := s.Replay(t.Context(), at, 1); err != nil { // past the first: it will never be taken
			t.Fatal(err)
		}
		pass(grace) // in which the execution would come that nobody has told
		w.sweep(w.sweeper(s), webhook.Swept{Looked: 1, Behind: 1})
		if d := w.delivery(at); d.Delivered != 2 || d.Cursor != 3 {
			t.Errorf("%+v", d)
		}
		w.receiver(at).answer = slowly(time.Second)
		if err := s.Replay(t.Context(), at, 2); err != nil {
			t.Fatal(err)
		}
		done := make(chan webhook.Result)
		go func() { done <- w.deliver(s, at) }()
		synctest.Wait()
		if err := s.Replay(t.Context(), at, 0); !errors.Is(err, ledger.ErrDeliveryChanged) {
			t.Errorf("while a sender is at work: %v", err)
		}
		if res := <-done; res.Sent != 1 {
			t.Errorf("%+v", res)
		}
	})
}
