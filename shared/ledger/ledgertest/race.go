package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A race is repeated this often, and spread over so many lanes: a ledger that
// gathers commits has something to gather.
const (
	raceRounds      = 240
	raceRoundsShort = 48
	raceLanes       = 12
	// minShare is the least share of the rounds, in percent, that each outcome must
	// have been seen in: a race that always goes one way proves nothing.
	minShare = 10
)

// rounds is n, or a fifth of it in short tests.
func rounds(n int) int {
	if testing.Short() {
		return n * raceRoundsShort / raceRounds
	}
	return n
}

// start says how two contenders set off. Scheduling alone may favour one of
// them for ever, so some rounds give each of them the lead.
type start int

const (
	together start = iota
	firstLeads
	secondLeads
)

// startOf gives one round in five to each lead.
func startOf(round int) start {
	switch round % 5 {
	case 0:
		return firstLeads
	case 1:
		return secondLeads
	default:
		return together
	}
}

// both runs two contenders.
func both(first, second func() error, s start) (errs [2]error) {
	switch s {
	case firstLeads:
		errs[0] = first()
		errs[1] = second()
		return errs
	case secondLeads:
		errs[1] = second()
		errs[0] = first()
		return errs
	}
	var ready sync.WaitGroup
	var done sync.WaitGroup
	ready.Add(2)
	for i, run := range []func() error{first, second} {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = run()
		})
	}
	done.Wait()
	return errs
}

// tally counts the outcomes of a race.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[outcome]++
}

// race repeats a round, reports how often each outcome was seen, and wants each
// of the expected ones often enough. A round returns its outcome.
func (b *bench) race(outcomes []string, round func(s start, n int) (string, error)) {
	b.Helper()
	n := rounds(raceRounds)
	seen := tally{counts: map[string]int{}}
	var next atomic.Int64
	var lanes sync.WaitGroup
	errs := make([]error, raceLanes)
	for lane := range raceLanes {
		lanes.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				outcome, err := round(startOf(i), i)
				if err != nil {
					errs[lane] = fmt.Errorf("round %d: %w", i, err)
					return
				}
				seen.add(outcome)
			}
		})
	}
	lanes.Wait()
	b.ok(errors.Join(errs...))
	line := make([]string, 0, len(outcomes))
	for _, outcome := range outcomes {
		line = append(line, fmt.Sprintf("%s %d", outcome, seen.counts[outcome]))
		if seen.counts[outcome]*100 < n*minShare {
			b.Errorf("outcome %q was seen in %d of %d rounds, want at least %d %%", outcome, seen.counts[outcome], n, minShare)
		}
		delete(seen.counts, outcome)
	}
	b.Logf("%d rounds: %s", n, strings.Join(line, ", "))
	for outcome, n := range seen.counts {
		b.Errorf("%d rounds ended in %q, which must not happen", n, outcome)
	}
}
