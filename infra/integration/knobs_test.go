package integration_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// What the numbers are without a variable.
const (
	defaultKills  = 50
	defaultRounds = 500
)

// kills is how often the step function's process is killed in the midst of a run.
func kills(t *testing.T) int { return knob(t, "HOLDFAST_INTEGRATION_KILLS", defaultKills) }

// rounds is how often a race is run.
func rounds(t *testing.T) int { return knob(t, "HOLDFAST_INTEGRATION_ROUNDS", defaultRounds) }

func knob(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: give it a number from 1 on", name, text)
	}
	return n
}

// chance draws from a printed seed. What is drawn is the same for the same seed; which
// process comes to it first is not.
type chance struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newChance(t *testing.T) *chance {
	t.Helper()
	seed := knob(t, "HOLDFAST_INTEGRATION_SEED", int(time.Now().UnixNano()&0x7fffffff))
	t.Logf("HOLDFAST_INTEGRATION_SEED=%d", seed)
	return &chance{rng: rand.New(rand.NewPCG(uint64(seed), 1))}
}

// of draws from 0 to n-1.
func (c *chance) of(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

// The longest that anything is waited for, and how often a condition is looked at.
const (
	patience  = 4 * time.Minute
	lookEvery = 200 * time.Millisecond
	lookSoon  = 5 * time.Millisecond // where a look costs nothing
)

// until looks until a condition holds. Its text says how things are otherwise.
func until(t *testing.T, what string, look func() (bool, string)) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		ok, is := look()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("after %s not yet: %s; it is %s", patience, what, is)
		}
	}
}

// expect is until for goroutines that may not end a test.
func expect(t *testing.T, what string, every time.Duration, look func() (bool, string)) bool {
	t.Helper()
	end := time.Now().Add(patience)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, is := look()
		if ok {
			return true
		}
		if time.Now().After(end) {
			t.Errorf("after %s not yet: %s; it is %s", patience, what, is)
			return false
		}
		<-tick.C
	}
}
