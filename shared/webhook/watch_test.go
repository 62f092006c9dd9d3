package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
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
