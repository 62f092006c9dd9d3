package webhook_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// A receiver that hangs is waited for once, and not once for each task of which it is told:
// its endpoints have executions at once, until one of them has found it quick again, or
// nothing was heard of it for long.
func TestSlowReceiverIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		told := &started{}
		fast := w.fast(told)
		fast.Sender.Receivers = &webhook.Receivers{}
		healthy := false
		// tell tells of a new task of the same receiver, and returns how long that took.
		tell := func() (ledger.DueDelivery, time.Duration) {
			w.ref, w.updates = w.task(), nil
			at := w.endpoint("same", slowly(10*time.Second))
			if healthy {
				at = w.endpoint("same", nil)
			}
			start := time.Now()
			if again := fast.Tell(t.Context(), []ledger.Change{w.commit("v")}); len(again) > 0 {
				t.Errorf("to come again: %v", again)
			}
			return at, time.Since(start)
		}
		if _, took := tell(); took != fastBudget || len(told.names) != 1 {
			t.Errorf("the first took %v, started %q", took, told.names)
		}
		for i := range 20 {
			at, took := tell()
			if took != 0 || len(told.names) != 2+i || len(w.receiver(at).requests()) != 0 {
				t.Fatalf("task %d took %v, started %q", i, took, told.names)
			}
		}
		// It is quick again, as one of the executions finds.
		healthy = true
		at, took := tell()
		if took != 0 || len(told.names) != 22 {
			t.Errorf("took %v, started %q", took, told.names)
		}
		other := w.sender() // another process
		other.Executions = told
		if res, err := other.Go(t.Context(), told.last(), budget); err != nil || res.Sent != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if fast.Tell(t.Context(), []ledger.Change{w.commit("v")}); len(w.receiver(at).requests()) != 2 || len(told.names) != 22 {
			t.Errorf("%d requests, started %q", len(w.receiver(at).requests()), told.names)
		}
		if at, took := tell(); took != 0 || len(told.names) != 22 || len(w.receiver(at).requests()) != 1 {
			t.Errorf("quick again: took %v, started %q", took, told.names)
		}
		// It hangs once more, and nobody hears of it for long.
		healthy = false
		if _, took := tell(); took != fastBudget {
			t.Errorf("took %v", took)
		}
		pass(9 * time.Minute)
		if _, took := tell(); took != 0 {
			t.Errorf("after 9 minutes it took %v", took)
		}
		pass(2 * time.Minute)
		if _, took := tell(); took != fastBudget {
			t.Errorf("after 11 minutes it took %v", took)
		}
	})
}

// Who answers quickly that it cannot is not slow, and neither is another receiver.
func TestQuickReceiversAreNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		fast := w.fast(&started{})
		fast.Sender.Receivers = &webhook.Receivers{}
		w.endpoint("down", script(500))
		w.endpoint("slow", hangs)
		fast.Tell(t.Context(), []ledger.Change{w.commit("v")})
		w.ref, w.updates = w.task(), nil
		down, well := w.endpoint("down", script(500)), w.endpoint("well", nil)
		start := time.Now()
		fast.Tell(t.Context(), []ledger.Change{w.commit("v")})
		if len(w.receiver(down).requests()) != 1 || len(w.receiver(well).requests()) != 1 || time.Since(start) != 0 {
			t.Errorf("%d and %d requests in %v", len(w.receiver(down).requests()), len(w.receiver(well).requests()), time.Since(start))
		}
	})
}
