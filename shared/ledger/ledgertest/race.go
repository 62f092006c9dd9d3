package ledgertest

import (
	"context"
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
	swapped        // together, and the second is started first
	firstLeads
	secondLeads
)

func (s start) String() string {
	return [...]string{"together", "together, swapped", "the first leads", "the second leads"}[s]
}

// startOf gives one round in six to each lead.
func startOf(round int) start {
	return [...]start{firstLeads, secondLeads, together, swapped, together, swapped}[round%6]
}

// leads says whether one contender had the lead.
func (s start) leads() bool { return s == firstLeads || s == secondLeads }

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
	contenders := []func() error{first, second}
	for n := range contenders {
		i := n
		if s == swapped {
			i = 1 - n
		}
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = contenders[i]()
		})
	}
	done.Wait()
	return errs
}

// tally counts the outcomes of a race.
type tally struct {
	mu       sync.Mutex
	counts   map[string]int
	together int // rounds without a lead
}

func (c *tally) add(outcome string, s start) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[outcome]++
	if !s.leads() {
		c.together++
	}
}

// contest is a race: a round returns its outcome.
type contest struct {
	rounds   int
	outcomes []string // each must be seen
	round    func(ctx context.Context, d *desk, s start) (string, error)
}

// run repeats the rounds, each at a desk of its own, reports how often each
// outcome was seen, and wants each of them often enough.
func (c contest) run(b *bench) {
	b.Helper()
	n := rounds(c.rounds)
	seen := tally{counts: map[string]int{}}
	var next atomic.Int64
	var lanes sync.WaitGroup
	errs := make([]error, raceLanes)
	for lane := range raceLanes {
		lanes.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				s := startOf(i)
				outcome, err := c.round(b.ctx, newDesk(b.ledger), s)
				if err != nil {
					errs[lane] = fmt.Errorf("round %d, %s: %w", i, s, err)
					return
				}
				seen.add(outcome, s)
			}
		})
	}
	lanes.Wait()
	b.ok(errors.Join(errs...))
	line := make([]string, 0, len(c.outcomes))
	for _, outcome := range c.outcomes {
		count := seen.counts[outcome]
		line = append(line, fmt.Sprintf("%s %d (%d %%)", outcome, count, count*100/n))
		if count*100 < n*minShare {
			b.Errorf("outcome %q was seen in %d of %d rounds, want at least %d %%", outcome, count, n, minShare)
		}
		delete(seen.counts, outcome)
	}
	b.Logf("%d rounds, %d of them together: %s", n, seen.together, strings.Join(line, ", "))
	for outcome, n := range seen.counts {
		b.Errorf("%d rounds ended in %q, which must not happen", n, outcome)
	}
}
