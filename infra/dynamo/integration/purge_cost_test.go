package integration_test

import (
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestCostOfPurge counts what it costs to forget the task of six steps that TestCost
// counts: its nine items and what is left of the head are removed one by one, and the
// submission key becomes a note. TTL has removed the marker for nothing, or the purge
// removes it too.
func TestCostOfPurge(t *testing.T) {
	for name, most := range map[string]float64{"the sweep's": 15, "TTL's": 14} {
		s := newStory(t)
		s.act("create", 9, s.submit)
		s.act("grant, started", 10, s.grant)
		for range 5 {
			s.act("step", 4, s.step)
		}
		s.act("complete", 11, s.complete)
		s.clock.Advance(lifecycle.DefaultRetention)
		if name == "TTL's" {
			removeMarker(t, s.names, s.task.Ref())
		}
		purger := &ledger.Purger{Purges: s.auth.Ledger, Blobs: ledgertest.NewMemoryBlobs(), Now: s.clock.Now, KeyNote: 30 * 24 * time.Hour}
		s.act("a purge of "+name, most, func() (ledger.Result, error) {
			_, err := purger.Purge(t.Context(), s.task.Ref())
			return ledger.Result{Task: s.task}, err
		})
		s.act("a purge of nothing", 1, func() (ledger.Result, error) {
			if _, err := purger.Purge(t.Context(), s.task.Ref()); !ledger.Gone(err) {
				return ledger.Result{}, err
			}
			return ledger.Result{Task: s.task}, nil
		})
		s.act("what has expired", 0, func() (ledger.Result, error) {
			_, err := s.auth.Ledger.Expired(t.Context(), s.clock.Now(), nil, 100)
			return ledger.Result{Task: s.task}, err
		})
	}
}
