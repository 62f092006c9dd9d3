// Package node joins the parts of Holdfast in one process: the door, the state
// machine, the runner and the sweep over one ledger. The program, the journeys
// and the benchmarks all run this same node.
package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/runner"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// takers is how many tasks are taken over at a time when a process starts.
const takers = 32

// Bounds of forgetting: purges side by side share the disk's confirmations, and leave
// most of the writer to those who wait for it. It can wait for a dozen sweeps, or for a
// moment when a run did not see the end.
const (
	forgetEvery  = 12
	forgetAgain  = time.Second
	purgesBeside = 8
	purgesMost   = 2_000
	purgeWithin  = 30 * time.Second
)

// Names under which the state machine calls its functions in this process.
const (
	stepFunction   = "arn:aws:lambda:local:000000000000:function:step"
	settleFunction = "arn:aws:lambda:local:000000000000:function:settle"
)

// Config is what a node is made of.
type Config struct {
	Ledger  ledger.Ledger
	Blobs   ledger.Blobs
	Catalog *catalog.Catalog
	Now     func() time.Time
	NewID   func() string  // unique and in order of time
	Secret  func() string  // callback tokens: nobody can guess them
	Rand    func() float64 // jitter
	Timing  Timing
	// HoldersGone is proof that no other process works on the ledger: tasks are
	// taken over at once, and effects begun before now are known to be without a
	// caller. The lock of the data folder proves it.
	HoldersGone bool
	// Connections gets one JSON line for each stream that is opened or closed; nil
	// drops them.
	Connections io.Writer
	// Churn reads the records of Connections back, for the console; nil: it shows none.
	Churn  func(ctx context.Context, ref lifecycle.Ref) ([]console.Connection, bool, error)
	Logger *slog.Logger
	// Ring has the keys of cards, page tokens and webhooks. nil: keys that end with the
	// process.
	Ring *keyring.Ring
	// Guard decides which webhooks are called; the zero value: public addresses.
	Guard webhook.Guard
	// Policies are the documents by which tasks are judged; nil: those that every build
	// has.
	Policies *policy.Set
	// Hooks calls webhooks; nil: the guard's client.
	Hooks *http.Client
	// Receipts verifies authorization receipts; nil takes none.
	Receipts api.Receipts
	// Callers says who is calling. nil takes everybody for the tenant Local with
	// every scope, which is for an address that only this machine reaches.
	Callers auth.Authenticator
}

// Timing are the durations of a node.
type Timing struct {
	Lease, Renewal, Grace time.Duration
	Invocation, Reserve   time.Duration
	Sweep                 time.Duration
	WaitBudget, KeepAlive time.Duration
	Stream, CancelWait    time.Duration
	// Late is how late the sweep, and what it should have done, may be before a light is
	// red; Window is how long a light shows an event that is over.
	Late, Window time.Duration
}

// DefaultTiming is what ARCHITECTURE.md documents.
func DefaultTiming() Timing {
	return Timing{
		Lease: lifecycle.DefaultLease, Renewal: lifecycle.DefaultRenewal, Grace: lifecycle.DefaultGrace,
		Invocation: time.Minute, Reserve: 10 * time.Second, Sweep: 5 * time.Second,
		WaitBudget: 25 * time.Second, KeepAlive: api.DefaultKeepAlive, Stream: 14 * time.Minute, CancelWait: 3 * time.Second,
		Late: defaultLate, Window: health.DefaultWindow,
	}
}

// Node is one process's worth of Holdfast.
type Node struct {
	// Handler serves A2A and everything beside it, the console included.
	Handler    http.Handler
	Authority  *ledger.Authority
	Dispatcher *dispatch.Dispatcher

	config     Config
	push       push.Config
	deliveries *deliveries
	runtime    *asl.Runtime
	watch      *watch
	sweeper    *sweep.Sweeper
	purges     *sweep.Purges
	stop       context.CancelFunc
	ctx        context.Context
	done       sync.WaitGroup
}

// New makes a node. It does nothing until Start.
func New(c Config) (*Node, error) {
	if c.Ring == nil {
		c.Ring = keyring.New(&keyring.Memory{})
	}
	c.Timing.Late, c.Timing.Window = cmp.Or(c.Timing.Late, defaultLate), cmp.Or(c.Timing.Window, health.DefaultWindow)
	var err error
	if c.Policies == nil {
		if c.Policies, err = policy.Shipped(); err != nil {
			return nil, err
		}
	}
	n := &Node{config: c, watch: newWatch(c)}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.push = push.Config{Ledger: c.Ledger, Ring: c.Ring, Guard: c.Guard, Client: c.Hooks, Now: c.Now, Dice: c.Rand, NewID: c.NewID, Grace: c.Timing.Grace, Watch: n.watch.monitor, Logger: c.Logger}
	if n.deliveries, err = newDeliveries(n.ctx, n.push); err != nil {
		return nil, err
	}
	n.push.Executions = n.deliveries
	n.Authority = &ledger.Authority{Ledger: n.watch.monitor.Ledger(&noticing{c.Ledger, n.deliveries}), Now: c.Now, NewID: c.NewID}
	n.Dispatcher = &dispatch.Dispatcher{Authority: n.Authority, Grace: c.Timing.Grace, Watch: n.watch.monitor}
	var deadBefore time.Time
	if c.HoldersGone {
		deadBefore = c.Now()
	}
	steps := runner.New(runner.Config{
		Authority: n.Authority, Blobs: c.Blobs, Agents: c.Catalog, Rand: c.Rand,
		Lease: c.Timing.Lease, Renewal: c.Timing.Renewal, Grace: c.Timing.Grace, Reserve: c.Timing.Reserve,
		DeadBefore: deadBefore, Watch: n.watch.monitor, Logger: c.Logger,
	})
	handler := &dispatch.Handler{Dispatcher: n.Dispatcher, Steps: func(ctx context.Context, in dispatch.Input, execution string, deadlineAt time.Time) (lifecycle.Outcome, error) {
		return steps.Run(ctx, runner.Input{Ref: in.Ref(), Generation: in.Generation, Execution: execution, DeadlineAt: deadlineAt})
	}}
	invocation := c.invocation()
	machine, err := asl.Parse([]byte(statemachine.Task), map[string]string{"StepFunctionArn": stepFunction, "SettleFunctionArn": settleFunction})
	if err != nil {
		return nil, fmt.Errorf("the state machine: %w", err)
	}
	n.runtime, err = asl.NewRuntime(machine, asl.Options{
		Invoke: func(ctx context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
			ctx, cancel := context.WithTimeout(ctx, invocation)
			defer cancel()
			return handler.Handle(ctx, payload)
		},
		Now: c.Now, Rand: c.Rand, NewToken: c.Secret,
	})
	if err != nil {
		return nil, err
	}
	n.Dispatcher.Executions = &executions{n.runtime}
	n.sweeper = &sweep.Sweeper{
		Authority: n.Authority, Executions: n.Dispatcher, Page: 100, Most: 10_000, Watch: n.watch.monitor, Logger: c.Logger,
		Known: c.Catalog.Known, Outside: c.Catalog.Outside,
	}
	n.purges = &sweep.Purges{
		Purger: &ledger.Purger{Purges: c.Ledger, Blobs: c.Blobs, Now: c.Now, KeyNote: lifecycle.DefaultKeyNote},
		Page:   100, Most: purgesMost, Beside: purgesBeside, Within: purgeWithin, Logger: c.Logger,
	}
	if n.Handler, err = n.door(); err != nil {
		return nil, err
	}
	return n, nil
}

// invocation is how long one invocation may last: long enough for the longest
// step of the catalog, which could otherwise never end.
func (c Config) invocation() time.Duration {
	long := c.Timing.Invocation
	for _, name := range c.Catalog.Names() {
		for _, version := range c.Catalog.Versions(name) {
			a, _ := c.Catalog.Lookup(name, version)
			for _, step := range a.Steps() {
				long = max(long, a.Timeout(step)+c.Timing.Reserve)
			}
		}
	}
	return long
}

// Start takes over what an earlier process left, and begins to sweep.
func (n *Node) Start() error {
	if n.config.HoldersGone {
		if err := n.recover(); err != nil {
			return err
		}
	}
	if err := n.deliveries.recall(n.config.HoldersGone); err != nil {
		return fmt.Errorf("looking for webhooks: %w", err)
	}
	n.done.Go(n.sweepOften)
	n.done.Go(n.forgetOften)
	return nil
}

// recover gives every live task that is not paused a new execution. A paused one
// waits for its answer, its deadline or the sweep; one that is worked on outside has
// none, and its holder may be alive. All are found before any is
// touched: a restart moves a task in the order in which they are found.
func (n *Node) recover() error {
	end := n.config.Now().Add(lifecycle.MaxLife + lifecycle.MaxPause)
	var live []lifecycle.Ref
	var after *ledger.DueCursor
	for {
		page, err := n.config.Ledger.Due(n.ctx, end, after, 500)
		if err != nil {
			return fmt.Errorf("looking for live tasks: %w", err)
		}
		for _, h := range page.Heads {
			if h.Pause == nil && !n.config.Catalog.Outside(h.Agent, h.AgentVersion) {
				live = append(live, h.Ref())
			}
		}
		if after = page.Next; after == nil {
			break
		}
	}
	return n.takeOver(live)
}

// takeOver restarts tasks side by side: each is a commit, and commits that come
// together share the disk's confirmation.
func (n *Node) takeOver(live []lifecycle.Ref) error {
	var workers sync.WaitGroup
	var failed atomic.Pointer[error]
	next := make(chan lifecycle.Ref)
	for range min(takers, len(live)) {
		workers.Go(func() {
			for ref := range next {
				if err := n.Dispatcher.Recover(n.ctx, ref); err != nil && !errors.Is(err, ledger.ErrNotFound) {
					err = fmt.Errorf("taking over task %s: %w", ref.Task, err)
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	for _, ref := range live {
		if failed.Load() != nil {
			break
		}
		next <- ref
	}
	close(next)
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (n *Node) sweepOften() {
	tick := time.NewTicker(n.config.Timing.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		blind := n.watch.measure(n.ctx)
		if blind != nil && n.ctx.Err() == nil {
			n.config.Logger.Error("nothing was measured", "error", blind)
		}
		found, err := n.sweeper.Run(n.ctx)
		if err != nil && n.ctx.Err() == nil {
			n.config.Logger.Error("sweep", "error", err)
		}
		if found.Expired+found.Restarted+found.Failed > 0 {
			n.config.Logger.Info("sweep", "looked", found.Looked, "expired", found.Expired, "restarted", found.Restarted, "failed", found.Failed, "unknown", found.Unknown)
		}
		_, failed := n.deliveries.sweeper.Run(n.ctx)
		if failed != nil && n.ctx.Err() == nil {
			n.config.Logger.Error("sweep of webhooks", "error", failed)
		}
		if blind == nil && err == nil && failed == nil {
			n.watch.swept(n.ctx)
		}
	}
}

// forgetOften purges what has expired, apart from the sweep: nobody waits for it.
func (n *Node) forgetOften() {
	next := time.NewTimer(forgetEvery * n.config.Timing.Sweep)
	defer next.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-next.C:
		}
		f, err := n.purges.Run(n.ctx)
		next.Reset(forgetEvery * n.config.Timing.Sweep)
		if f.Looked == purgesMost {
			next.Reset(forgetAgain)
		}
		if err != nil && n.ctx.Err() == nil {
			n.config.Logger.Error("forgetting", "error", err)
		}
		if f.Purged+f.Unfinished+f.Failed+f.Keys > 0 {
			n.config.Logger.Info("forgotten", "tasks", f.Purged, "records", f.Records, "unfinished", f.Unfinished, "failed", f.Failed, "keys", f.Keys)
		}
	}
}

// lastWords is how long a step that was told to stop may take to return, and its
// lease to be given back.
const lastWords = 5 * time.Second

// Stop ends the node: nothing new begins, and running steps may come to their end,
// which is committed. Those that have not when ctx ends are told, and give their
// lease back. An error means that something runs on. The ledger stays open.
func (n *Node) Stop(ctx context.Context) error {
	n.stop()
	n.deliveries.stop()
	n.done.Wait()
	if n.runtime.Stop(ctx) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	return n.runtime.Stop(ctx)
}

// Stats are the state machine's counts.
func (n *Node) Stats() asl.Stats { return n.runtime.Stats() }
