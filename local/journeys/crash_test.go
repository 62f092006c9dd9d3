package journeys_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// every is which crash points are tried: each, or each n-th where the race
// detector makes them slow.
func every(t *testing.T) int {
	text := os.Getenv("HOLDFAST_CRASH_EVERY")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HOLDFAST_CRASH_EVERY=%q: want a number from 1", text)
	}
	return n
}

// TestCrashEverywhere lets the process die at every single ledger call, blob call
// and outside call of the access review, before and after it, one run for each,
// and starts another process. All runs converge to the report and the effect
// counts of the run without a crash (I1, I2, I3, I7; cases 1, 14, 15, 17, 19, 22).
func TestCrashEverywhere(t *testing.T) {
	step := every(t)
	points := 0
	for _, s := range scripts() {
		t.Run(s.name, func(t *testing.T) {
			calm := review(t, s, &ledgertest.Crash{})
			if s.answer != nil && calm.state != a2a.TaskStateCompleted || s.answer == nil && calm.state != a2a.TaskStateFailed {
				t.Fatalf("without a crash the review ends as %s", calm.state)
			}
			judge(t, calm, calm)
			t.Run("points", func(t *testing.T) {
				for at := 1; at <= len(calm.calls); at += step {
					for _, after := range []bool{false, true} {
						points++
						t.Run(fmt.Sprintf("%d %s after=%t", at, calm.calls[at-1], after), func(t *testing.T) {
							t.Parallel()
							judge(t, review(t, s, &ledgertest.Crash{At: at, After: after}), calm)
						})
					}
				}
			})
			t.Logf("%s: %d calls, report %.12s", s.name, len(calm.calls), calm.report)
		})
	}
	t.Logf("%d crash points (every %d. call, before and after)", points, step)
}

// judge holds a review against the one without a crash.
func judge(t *testing.T, got, calm reviewed) {
	t.Helper()
	if got.state != calm.state || got.report != calm.report {
		t.Errorf("ended as %s with report %s, want %s with %s", got.state, got.report, calm.state, calm.report)
	}
	again := 0
	for system, n := range got.counters.Fetches {
		if n > 2 {
			t.Errorf("%s was fetched %d times", system, n)
		}
		again += n - 1
	}
	if again > 1 || len(got.counters.Fetches) != 40 {
		t.Errorf("%d systems were fetched, %d of them again; want 40, and at most the one in hand", len(got.counters.Fetches), again)
	}
	if len(got.counters.Revocations) != len(calm.counters.Revocations) {
		t.Errorf("%d revocations, want %d", len(got.counters.Revocations), len(calm.counters.Revocations))
	}
	repeats := 0
	for grant, n := range got.counters.Revocations {
		if n.Applied != 1 {
			t.Errorf("I7: %s was revoked %d times", grant, n.Applied)
		}
		repeats += n.Repeats
	}
	if repeats > 1 {
		t.Errorf("%d calls were repeated, want at most the one in doubt", repeats)
	}
}
