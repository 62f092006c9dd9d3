package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// watcher notes what it is told.
type watcher struct{ told []string }

func (w *watcher) NotDelivered(_ context.Context, at ledger.DueDelivery) {
	w.told = append(w.told, "not delivered "+at.ID)
}

func (w *watcher) GivenUp(_ context.Context, at ledger.DueDelivery, seq uint64) {
	w.told = append(w.told, fmt.Sprintf("given up %s %d", at.ID, seq))
}

// Every failure that is tried again is told of, and the last one as what it is; an
// endpoint that says that it is gone has said so itself.
func TestFailuresAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, want := range map[int][]string{
			http.StatusInternalServerError: append(slices.Repeat([]string{"not delivered one"}, len(webhook.Ladder)), "given up one 1"),
			http.StatusGone:                nil,
			http.StatusOK:                  nil,
		} {
			w := newWorld(t)
			at := w.endpoint("one", func(int, *http.Request) (*http.Response, error) { return status(code), nil })
			told := &watcher{}
			s := w.sender()
			s.Watch = told
			w.commit("vF")
			w.deliver(s, at)
			if !slices.Equal(told.told, want) {
				t.Errorf("%d: told %q, want %q", code, told.told, want)
			}
		}
	})
}

// A sender that dies over its attempts is counted out wherever it is found, and the last
// time is told as what it is: by whoever takes the endpoint, and by the sweep that hands it
// on.
func TestDeathsAreWatched(t *testing.T) {
	for name, take := range map[string]func(*webhook.Sender, context.Context, ledger.DueDelivery) error{
		"taken": func(s *webhook.Sender, ctx context.Context, at ledger.DueDelivery) error {
			_, err := s.Send(ctx, at, budget)
			return err
		},
		"handed on": (*webhook.Sender).Hand,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", nil)
			told := &watcher{}
			s := w.sender()
			s.Watch = told
			w.commit("vF")
			dead := w.delivery(at)
			dead.Holder, dead.LeaseUntil, dead.Attempt, dead.Revision = "dead", time.Now().Add(-time.Second), len(webhook.Ladder), dead.Revision+1
			if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, dead); err != nil {
				t.Fatal(err)
			}
			if err := take(s, t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if want := []string{"given up one 1"}; w.delivery(at).State != ledger.DeliveryGivenUp || !slices.Equal(told.told, want) {
				t.Errorf("told %q of %+v, want %q", told.told, w.delivery(at), want)
			}
		})
	}
}

// Whoever dies before a failure is written has told of it already.
func TestToldBeforeItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(500))
		told := &watcher{}
		s := w.sender()
		s.Watch = told
		w.commit("vF")
		faults := &ledgertest.Faults{Plan: func(c ledgertest.Call) ledgertest.Fault {
			if c.Method == "Deliver" && len(told.told) > 0 {
				return ledgertest.FailBefore
			}
			return ledgertest.None
		}}
		s.Endpoints = faults.Ledger(w.ledger)
		if _, err := s.Send(t.Context(), at, budget); err == nil || w.delivery(at).Failures != 0 {
			t.Fatalf("%v, %+v", err, w.delivery(at))
		}
		if want := []string{"not delivered one"}; !slices.Equal(told.told, want) {
			t.Errorf("told %q, want %q", told.told, want)
		}
	})
}
