package simulation_test

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// site is where the system runs.
type site interface {
	// start begins it, and keeps it alive until stop. Both may be called again.
	start()
	stop()
	// door is a process that serves, chosen by a number; nil when there is none.
	door(n uint64) *process
	// deploy replaces what runs by the world's release, one after the other.
	deploy()
	// busy is how many executions a goroutine works on.
	busy() int
}

// parts are what all processes of a deployment share.
type parts struct {
	w        *world
	callers  func(now func() time.Time) auth.Authenticator
	receipts func(now func() time.Time) verifier
	policies *policy.Set
	logs     io.Writer
}

func (x *parts) logger(p *process) *slog.Logger {
	if x.logs == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(x.logs, nil)).With("process", p.name)
}

// agents are what a process of a release brings.
func (x *parts) agents(p *process, release int) (*catalog.Catalog, error) {
	var list []*agent.Agent
	for version := 1; version <= release; version++ {
		list = append(list, walker(p, version).Under(policyOf(version)))
	}
	return catalog.New(append(list, agent.Outside("outsider", 1, agent.Card{}).Under(policyOf(1)))...)
}

// laptop is one or two nodes over one ledger. A lone one has the proof that it is
// alone; of two, neither has.
type laptop struct {
	*parts

	slots []*slot
	done  sync.WaitGroup
	close chan struct{}
	sweep time.Duration
}

// slot is where a node runs, life after life.
type slot struct {
	name string

	mu      sync.Mutex
	up      *process
	node    *node.Node
	renewal chan struct{} // closed to ask for another release
}

func (l *laptop) start() {
	l.close = make(chan struct{})
	for _, s := range l.slots {
		s.renewal = make(chan struct{})
		l.done.Go(func() { l.keep(s) })
	}
}

func (l *laptop) stop() {
	close(l.close)
	l.done.Wait()
}

// keep lives through the lives of a node.
func (l *laptop) keep(s *slot) {
	for {
		p := l.w.newProcess(s.name)
		n, err := l.node(p)
		if err != nil {
			l.w.broken("node", "a process cannot be made: %v", err)
			return
		}
		s.mu.Lock()
		renewal := s.renewal
		s.mu.Unlock()
		orderly := false
		if n.Start() == nil {
			s.mu.Lock()
			s.up, s.node = p, n
			s.mu.Unlock()
			select {
			case <-p.crash.Done():
			case <-renewal:
				orderly = true
			case <-l.close:
				orderly = true
			}
			s.mu.Lock()
			s.up, s.node = nil, nil
			s.mu.Unlock()
		}
		l.end(n, p, orderly)
		select {
		case <-l.close:
			return
		default:
		}
		pause := time.Duration(p.number("pause")%uint64(20*time.Second)) + time.Millisecond
		select {
		case <-time.NewTimer(pause).C:
		case <-l.close:
			return
		}
	}
}

// end stops a node. What a dead one still does has no effect on anybody.
func (l *laptop) end(n *node.Node, p *process, orderly bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if !orderly {
		p.crash.Kill() // also one that could not start
		cancel()
	}
	_ = n.Stop(ctx) // what does not stop ends with its process
	p.crash.Kill()
}

func (l *laptop) node(p *process) (*node.Node, error) {
	agents, err := l.agents(p, int(l.w.release.Load()))
	if err != nil {
		return nil, err
	}
	timing := node.DefaultTiming()
	timing.Sweep, timing.KeepAlive, timing.Stream, timing.Renewal = l.sweep, 20*time.Second, 4*time.Minute, p.renewal()
	n, err := node.New(node.Config{
		Ledger: p.ledger(), Blobs: p.blobs(), Catalog: agents, HoldersGone: len(l.slots) == 1, Timing: timing,
		Now: p.now, NewID: p.newID, Secret: p.secret, Rand: p.rand, Logger: l.logger(p), Ring: keyring.New(l.w.ring),
		Receipts: l.receipts(p.now), Callers: l.callers(p.now), Hooks: p.client(), Policies: l.policies,
	})
	if err != nil {
		return nil, err
	}
	p.server = n.Handler
	return n, nil
}

func (l *laptop) door(n uint64) *process {
	s := l.slots[n%uint64(len(l.slots))]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

func (l *laptop) deploy() {
	for _, s := range l.slots {
		s.mu.Lock()
		close(s.renewal)
		s.renewal = make(chan struct{})
		s.mu.Unlock()
		<-time.NewTimer(20 * time.Second).C
	}
}

func (l *laptop) busy() int {
	n := 0
	for _, s := range l.slots {
		s.mu.Lock()
		if s.node != nil {
			n += s.node.Stats().Running
		}
		s.mu.Unlock()
	}
	return n
}
