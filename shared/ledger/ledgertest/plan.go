package ledgertest

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Fault is what a plan does to a call.
type Fault int

// Faults. Where one does not apply to a method, the call goes through.
const (
	// None lets the call through.
	None Fault = iota
	// FailBefore answers ErrUnavailable; nothing was done.
	FailBefore
	// FailAfter answers ErrUnavailable; the call was done.
	FailAfter
	// Conflicted answers a *Conflict with the present head, though nothing has
	// changed (Commit, MarkCancel, Intend), or ErrDeliveryChanged (Deliver).
	Conflicted
	// Retried does the call twice and gives the second answer, as a transport does
	// that repeats what it had no answer to.
	Retried
	// Doubled does the call twice and gives the first answer: the second one arrives
	// behind the caller's back.
	Doubled
	// Late answers ErrUnavailable; the call is done some time later (Faults.Later).
	Late
	// Echoed does the call, and once more some time later, as a network does that kept
	// a copy.
	Echoed
	// Last does the call, and the process dies before it has the answer.
	Last
	// Delayed calls Faults.Delay first.
	Delayed
	// Stale gives the answer that the same question got last, and an empty one the
	// first time (List, Count, Due, DueDeliveries, Expired).
	Stale
)

// String is the fault's name.
func (f Fault) String() string {
	return [...]string{"", "failed before", "failed after", "conflict", "retried", "doubled", "late", "echoed", "last", "delayed", "stale"}[f]
}

// Call is a call as a plan sees it.
type Call struct {
	Method string // of the port, for instance "Commit"
	// Ref is the task that it is about; the tenant alone, or nothing, where it is about
	// no single one.
	Ref    lifecycle.Ref
	ID     string // of the endpoint, where it is about one
	Number int    // of this method's calls, from 1
	Total  int    // of all calls of the process, from 1; see Crash
}

// Plan decides what happens to a call. It is asked one call at a time.
type Plan func(Call) Fault

// On plans a fault for certain calls of a method.
func On(method string, fault Fault, numbers ...int) Plan {
	return func(c Call) Fault {
		if c.Method == method && slices.Contains(numbers, c.Number) {
			return fault
		}
		return None
	}
}

// Always plans a fault for every call of a method.
func Always(method string, fault Fault) Plan {
	return func(c Call) Fault {
		if c.Method == method {
			return fault
		}
		return None
	}
}

// Plans joins plans: the first that has a fault decides.
func Plans(plans ...Plan) Plan {
	return func(c Call) Fault {
		for _, p := range plans {
			if f := p(c); f != None {
				return f
			}
		}
		return None
	}
}

// Seeded picks one of the faults for so many percent of the calls. One seed and
// one order of calls give the same faults.
func Seeded(seed uint64, percent int, faults ...Fault) Plan {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 0))
	return func(Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(faults) == 0 || dice.IntN(100) >= percent {
			return None
		}
		return faults[dice.IntN(len(faults))]
	}
}
