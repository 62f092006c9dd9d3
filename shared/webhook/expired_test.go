package webhook_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// A delivery of a task that has expired ends quietly: nothing is sent, nothing counts as
// a failure, nobody is woken for it again, whatever is wanted of it; and a purge that
// removes the endpoint under a sender is the same.

func TestSenderOfAnExpiredTask(t *testing.T) {
	for name, gone := range map[string]func(w *world, at ledger.DueDelivery) (webhook.Source, bool){
		"hidden": func(*world, ledger.DueDelivery) (webhook.Source, bool) {
			return func(context.Context, ledger.DueDelivery, ledger.Endpoint, uint64, int) ([]webhook.Update, error) {
				return nil, ledger.ErrNotFound
			}, false
		},
		"purged while its updates are read": func(w *world, at ledger.DueDelivery) (webhook.Source, bool) {
			return func(ctx context.Context, of ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
				if err := w.ledger.DeleteEndpoint(ctx, at.Ref, at.ID); err != nil {
					return nil, err
				}
				return nil, ledger.ErrNotFound
			}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", script(http.StatusInternalServerError))
				s := w.sender()
				w.hint(s, w.commit("v"))
				if got := w.receiver(at).requests(); len(got) != 1 || w.delivery(at).Failures != 1 {
					t.Fatalf("%d requests, %+v", len(got), w.delivery(at))
				}
				w.commit("vF")
				if err := w.ledger.Want(t.Context(), at.Ref, at.ID, 3, time.Now()); err != nil {
					t.Fatal(err)
				}
				pass(webhook.Ladder[0])
				w.logs.Reset()
				var removed bool
				s.Updates, removed = gone(w, at)
				if res := w.send(s, at); res.Word != webhook.Done || res.Failed || res.Sent != 0 {
					t.Errorf("answered %+v", res)
				}
				if n := len(w.receiver(at).requests()); n != 1 || w.logs.Len() > 0 {
					t.Errorf("%d requests, and the log has %s", n, w.logs)
				}
				if removed {
					return
				}
				if d := w.delivery(at); !d.DueAt.IsZero() || d.Holder != "" || d.Failures != 1 || len(d.Attempts) != 1 {
					t.Errorf("afterwards it is %+v", d)
				}
				pass(webhook.CheckMost)
				w.sweep(w.sweeper(s), webhook.Swept{})
			})
		})
	}
}

func TestSweepOfAnExpiredTask(t *testing.T) {
	for name, change := range map[string]func(d *ledger.Delivery){
		"idle": func(*ledger.Delivery) {}, "failing": func(d *ledger.Delivery) { d.Failures, d.Attempt, d.NextAt = 1, 1, time.Now() },
		"a dead sender's": func(d *ledger.Delivery) { d.Holder, d.LeaseUntil = "dead", time.Now() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", nil)
				w.commit("vF")
				d := w.delivery(at)
				d.Revision++
				d.DueAt = time.Now()
				change(&d)
				if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, d); err != nil {
					t.Fatal(err)
				}
				if err := w.ledger.Want(t.Context(), at.Ref, at.ID, 2, time.Now()); err != nil { // it lacks something
					t.Fatal(err)
				}
				sweeper := w.sweeper(w.sender())
				sweeper.Head = func(context.Context, ledger.DueDelivery) (uint64, bool, error) { return 0, false, ledger.ErrNotFound }
				pass(1)
				w.sweep(sweeper, webhook.Swept{Looked: 1, Settled: 1})
				if n := len(w.receiver(at).requests()); n != 0 || !w.delivery(at).DueAt.IsZero() {
					t.Errorf("%d requests, %+v", n, w.delivery(at))
				}
				pass(webhook.CheckMost)
				w.sweep(sweeper, webhook.Swept{})
			})
		})
	}
}
