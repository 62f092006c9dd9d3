package simulation_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// process is one life of a program, or one invocation of a function: it sees its ports
// through faults of its own, and can die at any call.
type process struct {
	w      *world
	name   string // with the number of its life
	crash  *ledgertest.Crash
	faults *ledgertest.Faults
	server http.Handler // of one that serves
	// stalledUntil belongs to the schedule.
	stalledUntil time.Time

	mu   sync.Mutex
	made map[uint64]int // identifiers, by what they are made of
}

// newProcess begins a life of a program.
func (w *world) newProcess(program string) *process {
	w.mu.Lock()
	w.lives[program]++
	name := fmt.Sprintf("%s.%d", program, w.lives[program])
	w.mu.Unlock()
	p := &process{w: w, name: name, crash: &ledgertest.Crash{}, made: map[uint64]int{}}
	p.faults = &ledgertest.Faults{Crash: p.crash, Turn: p.turn, Later: w.later}
	return p
}

func (p *process) ledger() ledger.Ledger { return p.faults.Ledger(p.w.witness) }
func (p *process) blobs() ledger.Blobs   { return p.faults.Blobs(p.w.blobs) }

// turn waits for the turn of a call of a port.
func (p *process) turn(ctx context.Context, c ledgertest.Call) ledgertest.Fault {
	about := c.Ref.Tenant
	if c.Ref.Task != "" {
		about = string(c.Ref.Task)
	}
	if c.ID != "" {
		about += " " + c.ID
	}
	return p.w.schedule.wait(ctx, &turn{of: p, who: p.whoFor(ctx), what: c.Method, about: about, port: true, may: faultsOf(c.Method)})
}

// whoFor is the process, and on whose behalf it is at work.
func (p *process) whoFor(ctx context.Context) string {
	if behalf, _ := ctx.Value(onBehalf{}).(string); behalf != "" {
		return p.name + " for " + behalf
	}
	return p.name
}

// wait waits for the turn of any call of the process.
func (p *process) wait(ctx context.Context, what, about string, may []ledgertest.Fault) ledgertest.Fault {
	return p.w.schedule.wait(ctx, &turn{of: p, who: p.whoFor(ctx), what: what, about: about, may: may})
}

// onBehalf is the key of a context's value: the actor whose request it is.
type onBehalf struct{}

// call is a call outside the ports, after which the process may have died: do is done
// in its turn.
func (p *process) call(ctx context.Context, what, about string, may []ledgertest.Fault, do func(ledgertest.Fault) error) error {
	fault := p.wait(ctx, what, about, may)
	if err := p.crash.Point(what); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := do(fault)
	if fault == ledgertest.Last {
		p.crash.Kill()
	}
	if p.crash.Crashed() {
		return ledgertest.ErrCrashed
	}
	return err
}

// living is a context that ends with the process as well.
func (p *process) living(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.crash.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (p *process) now() time.Time { return time.Now().Add(p.skew()) }

// skew is how far its clock is off, in some worlds: up to so much to either side, and
// every few minutes it jumps.
func (p *process) skew() time.Duration {
	if !p.w.skews {
		return 0
	}
	const most, every = 1500, 7 * time.Minute
	n := mix(p.w.seed, text(p.name), uint64(time.Since(p.w.begun)/every))
	return time.Duration(n%(2*most))*time.Millisecond - most*time.Millisecond
}

// number is made of the seed, the process, the instant, who asks, and how often that
// was: which goroutine is first does not matter unless two are the same in all of it.
func (p *process) number(what string) uint64 {
	sum := mix(p.w.seed, text(p.name), text(what), uint64(time.Now().UnixNano()), caller())
	p.mu.Lock()
	p.made[sum]++
	n := p.made[sum]
	p.mu.Unlock()
	return mix(sum, uint64(n))
}

// newID is unique and in order of time, as UUIDv7 are.
func (p *process) newID() string {
	n, ms := p.number("id"), time.Now().UnixMilli()
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, n>>52, n>>40&0xfff, n&0xffff_ffff_ffff)
}

func (p *process) secret() string { return fmt.Sprintf("secret-%016x", p.number("secret")) }

// renewal is how often leases are renewed: an odd time, so that it does not come at the
// very instants at which round timeouts end.
func (p *process) renewal() time.Duration {
	return 9*time.Second + time.Duration(mix(p.w.seed, text(p.name), 3)%uint64(900*time.Millisecond))
}

func (p *process) rand() float64 { return float64(p.number("dice")%1000) / 1000 }

// later puts a call off that nobody counts on any more.
func (w *world) later(c ledgertest.Call, do func()) {
	n := mix(w.seed, text(c.Method), text(c.Ref.String()), uint64(time.Now().UnixNano()))
	after := time.Duration(n % uint64(40*time.Second))
	w.schedule.enter(&turn{who: "network", what: c.Method + " late", about: string(c.Ref.Task), do: do, after: time.Now().Add(after)})
}

// client calls the webhooks of the process.
func (p *process) client() *http.Client {
	return &http.Client{Transport: &posting{p}, Timeout: 15 * time.Second}
}
