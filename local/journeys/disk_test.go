package journeys_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// A ledger that can be read and not written (a full disk) is waited for, without
// haste: an execution does not run in circles, and goes on when there is room
// again.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		w := newWorld(t, hello.Agent)
		faults := &ledgertest.Faults{Plan: func(c ledgertest.Call) ledgertest.Fault {
			if c.Method == "Commit" && full.Load() {
				return ledgertest.FailBefore
			}
			return ledgertest.None
		}}
		n, err := w.tryProcess(faults.Ledger(w.ledger), w.blobs)
		if err != nil {
			t.Fatal(err)
		}
		defer w.stop(n)
		full.Store(true)
		var s sent
		w.must(http.MethodPost, "/message:send", send("m", "Ada", ""), &s)
		<-time.NewTimer(10 * time.Minute).C
		// Run, Settle, Route and Wait every five seconds are 480; in circles, it is
		// as many as an execution can have.
		if entered := n.Stats().Transitions; entered > 700 {
			t.Errorf("%d states were entered in ten minutes", entered)
		}
		full.Store(false)
		w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateCompleted))
		w.verify(s.Task.ID)
	})
}
