package integration_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Between two kills the step function makes at most so many requests. A review makes
// about 200 in all, so that a few kills hit all its phases.
const maxRequestsBetween = 40

// A step function that dies leaves a lease of a second, and effects in doubt for at
// most what is left of its invocation.
const (
	shortInvocation = 4 * time.Second
	shortSweep      = 400 * time.Millisecond
)

// Of so many kills one waits for the next revocation, whose outcome nobody then knows.
const revocationOf = 4

// killer sends SIGKILL to the step function's processes when they make a request that
// was drawn: before it has reached the ledger or a system, or after it has acted there
// and before the answer is known. In between a process changes nothing outside of
// itself, so these are all the points that there are.
type killer struct {
	*stack
	chance *chance
	budget *atomic.Int64 // kills that are left, for all killers

	wire  sync.RWMutex // held for reading while a request is on its way
	mu    sync.Mutex
	ref   lifecycle.Ref // of the review that runs; zero: nothing is killed
	after int           // requests until the next kill; -1: the next revocation
	most  int           // kills of this review
	here  []kill
	// strikes are all kills; runs and other the invocations that they have ended.
	strikes, runs, other int
}

// kill is one kill, with the head as the dead process left it.
type kill struct {
	seq, fence uint64
	held       bool
}

// strike decides about a request: act makes it. False: its process is dead.
func (k *killer) strike(revocation bool, act func()) bool {
	if !k.drawn(revocation) {
		k.wire.RLock()
		defer k.wire.RUnlock()
		act()
		return true
	}
	if k.chance.of(2) == 0 {
		act()
	}
	k.function(fnStep).Kill()
	k.wire.Lock() // what a dead process had sent still arrives
	defer k.wire.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ref.Task == "" {
		return false // the review has ended while its process was dying
	}
	h, err := k.ledger.Head(context.Background(), k.ref)
	if err != nil {
		k.Errorf("the head after a kill: %v", err)
	}
	k.here = append(k.here, kill{h.Seq, h.Fence, h.Holder != ""})
	k.draw()
	return false
}

// draw chooses the next request to die at. The lock is held.
func (k *killer) draw() {
	k.after = 1 + k.chance.of(maxRequestsBetween)
	if k.chance.of(revocationOf) == 0 {
		k.after = -1
	}
}

// drawn says whether a request is the one to die at.
func (k *killer) drawn(revocation bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ref.Task == "" || len(k.here) >= k.most || k.after == 0 {
		return false // at zero its process is dying already
	}
	if k.after > 0 {
		k.after--
	}
	if k.after > 0 || k.after < 0 && !revocation {
		return false
	}
	k.after = 0
	if k.budget.Add(-1) < 0 {
		k.budget.Add(1)
		return false
	}
	k.strikes++
	return true
}

// meet is the killer in front of the ledger.
func (k *killer) meet(x *exchange) *reply {
	var answer *reply
	if !k.strike(false, func() { answer = x.forward() }) {
		return nil
	}
	return answer
}

// refused counts what kills have ended.
func (k *killer) refused(function, op string, err error) {
	failed, is := errors.AsType[*lambdahost.FunctionError](err)
	if function != fnStep || !is || !strings.Contains(failed.Message, "signal: killed") {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if op == "run" {
		k.runs++
	} else {
		k.other++
	}
}

// begin prepares for a review.
func (k *killer) begin(most int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ref, k.here, k.most = lifecycle.Ref{}, nil, most
}

// aim begins to kill, when the review's task is known.
func (k *killer) aim(ref lifecycle.Ref) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ref = ref
	k.draw()
}

// stop ends killing, and gives what was killed.
func (k *killer) stop() []kill {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ref = lifecycle.Ref{}
	return k.here
}

func (k *killer) counts() (strikes, runs, other int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.strikes, k.runs, k.other
}

// newKiller is a stack whose step function has the killer between itself and
// everything outside. Leases are short, so that a death is noticed soon.
func newKiller(t *testing.T, c *chance, budget *atomic.Int64) *killer {
	t.Helper()
	k := &killer{chance: c, budget: budget}
	k.stack = newStack(t, plan{
		ledger: newProxy(t, dynamoEndpoint, k.meet), refused: k.refused, invocation: shortInvocation, sweep: shortSweep,
		env: []string{"HOLDFAST_LEASE=1500ms", "HOLDFAST_RENEWAL=500ms", "HOLDFAST_GRACE=200ms"},
	})
	k.outside.meet(func(r *http.Request, act func()) bool { return k.strike(r.Method == http.MethodPost, act) })
	return k
}
