package ledgertest

import (
	"sync"
	"time"
)

// Clock is a clock that moves when a test says so.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock begins at an instant in the middle of a millisecond, in a zone that
// is not UTC: what the ledger does not keep must not matter.
func NewClock() *Clock {
	return &Clock{at: time.Date(2026, 3, 1, 12, 0, 0, 123456, time.FixedZone("east", 7200))}
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
