package simulation_test

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// storm is what a seed does to calls, until it abates.
type storm struct {
	until time.Time
	// rate is how many of 10,000 calls are struck; weight what they are struck by.
	rate   int
	weight map[ledgertest.Fault]int
	deaths int // weight of dying before a call
	stalls int // weight of a process that stands still
	pace   pace
	// left bounds the blows of a seed.
	left int
	// outages are times in which no port can be reached.
	outages []span
}

// span is a time from an instant to another.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

// pace is how long calls take.
type pace int

const (
	atOnce pace = iota // no time at all: everything ties
	brisk              // some milliseconds
	ragged             // now and then many seconds, beyond leases and timeouts
	paces
)

// blow is what happens to one call.
type blow struct {
	fault  ledgertest.Fault
	dies   bool
	stalls time.Duration
}

// String names the blow, "" for none.
func (b blow) String() string {
	switch {
	case b.dies:
		return "crash before"
	case b.stalls > 0:
		return "stall"
	case b.fault == ledgertest.Last:
		return "crash after"
	}
	return b.fault.String()
}

// newStorm draws one. In one of eight seeds there is none.
func newStorm(dice *rand.Rand, until time.Time) *storm {
	s := &storm{until: until, weight: map[ledgertest.Fault]int{}, pace: pace(dice.IntN(int(paces))), left: 60}
	s.rate = []int{0, 40, 100, 200, 200, 400, 400, 800}[dice.IntN(8)]
	if dice.IntN(16) == 0 {
		s.rate, s.left = 2000, 250
	}
	for _, f := range blows {
		s.weight[f] = max(0, dice.IntN(5)-1)
	}
	s.deaths, s.stalls = max(0, dice.IntN(6)-1), max(0, dice.IntN(4)-2)
	if dice.IntN(6) == 0 {
		begin := time.Now().Add(time.Duration(dice.Int64N(int64(time.Until(until)))))
		s.outages = append(s.outages, span{begin, begin.Add(time.Duration(1+dice.IntN(240)) * time.Second)})
	}
	return s
}

// again lets the storm come up once more.
func (s *storm) again(d time.Duration) { s.until, s.left, s.outages = time.Now().Add(d), 40, nil }

// blows are the faults that a call may have, in a fixed order.
var blows = []ledgertest.Fault{
	ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Conflicted, ledgertest.Retried, ledgertest.Doubled,
	ledgertest.Late, ledgertest.Echoed, ledgertest.Last, ledgertest.Stale,
}

// strike says what happens to a call whose turn has come.
func (s *storm) strike(dice *rand.Rand, t *turn) blow {
	if t.port && slices.ContainsFunc(s.outages, func(o span) bool { return o.has(time.Now()) }) && slices.Contains(t.may, ledgertest.FailBefore) {
		return blow{fault: ledgertest.FailBefore}
	}
	if t.do != nil || s.left == 0 || !time.Now().Before(s.until) || dice.IntN(10_000) >= s.rate {
		return blow{}
	}
	total := 0
	for _, f := range t.may {
		total += s.weight[f]
	}
	mortal := t.of != nil
	if mortal {
		total += s.deaths + s.stalls
	}
	if total == 0 {
		return blow{}
	}
	s.left--
	drawn := dice.IntN(total)
	for _, f := range t.may {
		if drawn -= s.weight[f]; drawn < 0 {
			return blow{fault: f}
		}
	}
	if drawn < s.deaths {
		return blow{dies: true}
	}
	return blow{stalls: time.Duration(1+dice.IntN(90)) * time.Second}
}

// latency is how long a call waits before its turn can come.
func (s *storm) latency(dice *rand.Rand) time.Duration {
	if s.pace == atOnce {
		return 0
	}
	if s.pace == ragged && time.Now().Before(s.until) {
		switch n := dice.IntN(400); {
		case n == 0:
			return time.Duration(dice.Int64N(int64(25 * time.Second)))
		case n < 12:
			return time.Duration(dice.Int64N(int64(2 * time.Second)))
		}
	}
	return time.Duration(dice.Int64N(int64(3 * time.Millisecond)))
}

// Faults by what a call is.
var (
	onWrites  = []ledgertest.Fault{ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Retried, ledgertest.Doubled, ledgertest.Late, ledgertest.Echoed, ledgertest.Last}
	onGuarded = append([]ledgertest.Fault{ledgertest.Conflicted}, onWrites...)
	onReads   = []ledgertest.Fault{ledgertest.FailBefore, ledgertest.Last}
	onIndexes = append([]ledgertest.Fault{ledgertest.Stale}, onReads...)
	onSends   = []ledgertest.Fault{ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Last}
	onClients = []ledgertest.Fault{ledgertest.FailBefore, ledgertest.FailAfter}
)

// faultsOf are those of a port's method. Watch only waits: nothing is lost with it.
func faultsOf(method string) []ledgertest.Fault {
	switch method {
	case "Commit", "MarkCancel", "Intend", "Deliver":
		return onGuarded
	case "List", "Count", "Due", "DueDeliveries", "Found":
		return onIndexes
	case "Head", "Entries", "Artifacts", "Key", "Receipt", "Producer", "Quarantine", "Rejections", "Counts", "Effect", "EffectList",
		"Parked", "Acts", "Endpoint", "EndpointList", "Changes", "Get":
		return onReads
	case "Watch":
		return nil
	}
	return onWrites
}
