package ledgertest

import (
	"errors"
	"slices"
	"sync"
)

// ErrCrashed is what everything answers once the process has died.
var ErrCrashed = errors.New("the process has crashed")

// Crash numbers the calls of one process, over all its ports, and lets it die at
// one of them. The zero value only counts. Safe for concurrent use.
//
// A suite that crashes at every point runs once with a zero Crash, asks Calls,
// and runs again for each number, before and after:
//
//	for at := 1; at <= calls; at++ {
//		first := &ledgertest.Crash{At: at}
//		…                              // until everything answers ErrCrashed
//		second := &ledgertest.Crash{}  // the next process, on the same ledger
//	}
type Crash struct {
	// At is the number of the call at which the process dies, from 1; 0 for never.
	At int
	// After lets that call have its effect; its answer is lost all the same.
	After bool

	mu      sync.Mutex
	names   []string
	crashed chan struct{} // closed by the crash
	dead    bool
}

// Point is a place at which the process can die that is not a call of a port,
// for instance an effect's outside call. Whoever wants to die before and after it
// names two points. After makes no difference here.
func (c *Crash) Point(name string) error {
	_, err := c.begin(name)
	if err != nil {
		return err
	}
	return c.end()
}

// Kill lets the process die now.
func (c *Crash) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kill()
}

func (c *Crash) kill() {
	if !c.dead {
		c.dead = true
		close(c.done())
	}
}

// Calls is how many calls and points there were.
func (c *Crash) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.names)
}

// Names are the calls and points in their order. After the crash none is added.
func (c *Crash) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// Crashed says whether the process has died.
func (c *Crash) Crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// Done is closed when the process dies.
func (c *Crash) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done()
}

func (c *Crash) done() chan struct{} {
	if c.crashed == nil {
		c.crashed = make(chan struct{})
	}
	return c.crashed
}

// begin numbers a call. An error means that it must have no effect.
func (c *Crash) begin(name string) (number int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return 0, ErrCrashed
	}
	c.names = append(c.names, name)
	if len(c.names) != c.At {
		return len(c.names), nil
	}
	c.kill()
	if c.After {
		return len(c.names), nil
	}
	return len(c.names), ErrCrashed
}

// end comes after a call: a process that died meanwhile sees no answer.
func (c *Crash) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return ErrCrashed
	}
	return nil
}
