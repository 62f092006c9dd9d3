package integration_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// The worked example from end to end: submitted, parked on its question, answered,
// applied, reported; the report is the one that the embedded default comes to.
func TestReview(t *testing.T) {
	t.Parallel()
	want := embeddedDigest(t)
	s := newStack(t, plan{})
	began := time.Now()
	task, err := review(t, s.url+reviewer, "review")
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	got, err := reportDigest(task)
	if err != nil || got != want {
		t.Errorf("the report has the digest %s, %v; the embedded default's has %s", got, err, want)
	}
	c, err := s.outside.counters()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.once(); err != nil {
		t.Error(err)
	}
	if c.Totals.Fetches != 40 || c.Totals.Repeats != 0 {
		t.Errorf("%d fetches and %d repeated revocations, want 40 and none", c.Totals.Fetches, c.Totals.Repeats)
	}
	h, err := verify(t.Context(), s.auth, refTo(task.ID))
	if err != nil {
		t.Error(err)
	}
	if err := settled(t.Context(), s.ledger, h.Ref()); err != nil {
		t.Error(err)
	}
	s.fed(task.ID)
	name := fmt.Sprintf("%s-g%d", task.ID, h.Generation)
	until(t, "the execution has ended", func() (bool, string) { _, ok := s.machine.result(name); return ok, "open" })
	r, _ := s.machine.result(name)
	if r.Err != nil || s.machine.visited(name, "Await") != 1 || h.Generation != 1 {
		t.Errorf("execution %s ended with %v after %d visits of Await", name, r.Err, s.machine.visited(name, "Await"))
	}
	t.Logf("%d revocations applied once, digest %s, %d entries, %d transitions, %s", c.Totals.Applied, got, len(h.entries), r.Transitions, took.Round(time.Millisecond))
}

// The worked example loses the network after 9 of 14 revocations, as make demo plays it:
// the tenth is never heard, and the one after it is done and never answered. The report
// is the same, each revocation was applied once, and the one in doubt was asked for
// again under its key.
func TestReviewLosesNetwork(t *testing.T) {
	t.Parallel()
	const before = 9
	want := embeddedDigest(t)
	s := newStack(t, plan{})
	var mu sync.Mutex
	revoked := 0
	s.outside.meet(func(r *http.Request, act func()) bool {
		if r.Method != http.MethodPost {
			act()
			return true
		}
		mu.Lock()
		revoked++
		n := revoked
		mu.Unlock()
		if n != before+1 {
			act()
		}
		return n != before+1 && n != before+2
	})
	task, err := review(t, s.url+reviewer, "network")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reportDigest(task); err != nil || got != want {
		t.Errorf("the report has the digest %s, %v; the embedded default's has %s", got, err, want)
	}
	c, err := s.outside.counters()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.once(); err != nil {
		t.Error(err)
	}
	if revoked != grantCount+2 || c.Totals.Revokes != grantCount+1 || c.Totals.Repeats != 1 || c.Totals.Fetches != 40 {
		t.Errorf("%d revocations sent, %d arrived, %d of them again, %d fetches; want %d, %d, 1 and 40", revoked, c.Totals.Revokes, c.Totals.Repeats, c.Totals.Fetches, grantCount+2, grantCount+1)
	}
	h, err := verify(t.Context(), s.auth, refTo(task.ID))
	if err != nil {
		t.Error(err)
	}
	if err := settled(t.Context(), s.ledger, h.Ref()); err != nil {
		t.Error(err)
	}
	t.Logf("%d revocations sent, %d applied once, %d recognised again, same digest", revoked, c.Totals.Applied, c.Totals.Repeats)
}
