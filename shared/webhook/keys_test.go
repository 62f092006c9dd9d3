package webhook_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/seal"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

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

// While the keys are away the sweep begins an execution each minute. Each that was followed
// ends at its next turn, as does one whose endpoint is gone or takes no more, and one that
// was not waits; so does one of which nobody can say.
func TestWithoutKeysOneExecutionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		w.commit("vF")
		told := &started{}
		planner := w.sender()
		planner.Executions = told
		h := w.handler(planner)
		h.Sender = func(context.Context) (*webhook.Sender, error) { return nil, errors.New("the key service is away") }
		var all []webhook.Execution
		for range 3 {
			if err := planner.Hand(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			all = append(all, told.last())
			pass(time.Minute)
		}
		wants := func(x webhook.Execution, want webhook.Word) {
			t.Helper()
			if out := turn(t, h, x); out.Word != want {
				t.Errorf("generation %d: %+v, want %s", x.Generation, out, want)
			}
		}
		wants(all[0], webhook.Done)
		wants(all[1], webhook.Done)
		wants(all[2], webhook.Wait)
		faults := &ledgertest.Faults{Plan: ledgertest.Always("Endpoint", ledgertest.FailBefore)}
		h.Endpoints = faults.Ledger(w.ledger)
		wants(all[0], webhook.Wait)
		h.Endpoints = w.ledger
		d := w.delivery(at)
		d.State, d.Revision = ledger.DeliveryDisabled, d.Revision+1
		if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, d); err != nil {
			t.Fatal(err)
		}
		wants(all[2], webhook.Done)
		if err := w.ledger.DeleteEndpoint(t.Context(), at.Ref, at.ID); err != nil {
			t.Fatal(err)
		}
		wants(all[2], webhook.Done)
	})
}
