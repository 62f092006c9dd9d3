package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/seal"
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

// Trouble of our own is no attempt of the receiver's, and somebody must know of it all
// the same: of an endpoint that is given back for it, and of one that waited and to whom
// nobody came. Where nothing has waited yet there is nothing to tell.
func TestTroubleOfOursIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		told := &watcher{}
		s := w.sender()
		s.Watch, s.Sealer = told, awaySealer{}
		w.commit("vF")
		if res := w.send(s, at); res.Failed || res.Word != webhook.Wait || len(told.told) != 1 || told.told[0] != "not delivered one" {
			t.Errorf("%+v, told %q", res, told.told)
		}

		other := w.endpoint("two", nil)
		hand := func(want int) {
			t.Helper()
			told.told = nil
			if err := s.Hand(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			if len(told.told) != want || w.delivery(other).Attempt != 0 {
				t.Errorf("told %q, want %d: %+v", told.told, want, w.delivery(other))
			}
		}
		hand(0) // for the first time
		hand(0) // its time is not over
		for range 3 {
			pass(time.Minute)
			hand(1)
		}
	})
}

// awaySealer cannot reach its keys.
type awaySealer struct{ seal.Sealer }

// Open implements seal.Sealer.
func (awaySealer) Open(context.Context, []byte, string) ([]byte, error) {
	return nil, errors.New("the key service is away")
}
