package health_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Throttling is counted at each request, and noted once in ten seconds, however much
// there is of it: a note is a request as well.
func TestThrottlingIsNotedSeldom(t *testing.T) {
	w := newWard(t)
	notes := 0
	w.faults.Plan = func(c ledgertest.Call) ledgertest.Fault {
		if c.Method == "Note" {
			notes++
		}
		return ledgertest.None
	}
	w.lines()
	for n := range 100 {
		w.monitor.Throttled(w.Context())
		if lines := w.lines(); len(lines) != 1 || !slices.Equal(metricsOf(lines[0]), []string{"Throttled"}) {
			t.Fatalf("request %d: %v", n, lines)
		}
		w.clock.Advance(99 * time.Millisecond)
	}
	w.wants(health.Throttled, health.Amber, 1)
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
	w.clock.Advance(100 * time.Millisecond)
	w.monitor.Throttled(w.Context())
	w.wants(health.Throttled, health.Red, 101)
	if notes != 2 {
		t.Errorf("%d notes", notes)
	}
}

// slow is where notes take their time, are throttled themselves, and may be lost.
type slow struct {
	ledger.Findings

	meet func(ctx context.Context) error
}

// Note implements ledger.Findings.
func (s *slow) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	if err := s.meet(ctx); err != nil {
		return err
	}
	return s.Findings.Note(ctx, ref, kind, at, spell, times)
}

// A note that is throttled begins no other, however long it takes. What it was about is
// noted with the next one, if it was lost.
func TestNotesDoNotNest(t *testing.T) {
	w := newWard(t)
	begun, deep, most := 0, 0, 0
	lost := true
	w.monitor.Findings = &slow{w.auth.Ledger, func(ctx context.Context) error {
		begun++
		deep++
		most = max(most, deep)
		defer func() { deep-- }()
		if begun < 5 { // for the sake of a monitor that does nest
			for range 20 {
				w.clock.Advance(time.Second)
				w.monitor.Throttled(ctx)
			}
		}
		if lost {
			return ledger.ErrUnavailable
		}
		return nil
	}}
	w.monitor.Throttled(w.Context())
	w.monitor.VersionUnknown(w.Context(), w.submit(tenant, "hello")) // a note of another kind
	if begun != 2 || most != 1 {
		t.Errorf("%d notes, %d at once", begun, most)
	}
	lost = false
	w.clock.Advance(10 * time.Second)
	w.monitor.Throttled(w.Context())
	if begun != 3 || most != 1 {
		t.Errorf("%d notes, %d at once", begun, most)
	}
	if l := of(t, w.report(tenant), health.Throttled); l.Value != 42 {
		t.Errorf("%+v", l)
	}
}
