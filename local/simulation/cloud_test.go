package simulation_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/offer"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// cloud is the system as functions: the state machine is a service that lives on while
// each invocation is a process of its own; doors, the reader of the change feed and the
// sweep are others. Nothing but the ledger and the executions outlives anything.
type cloud struct {
	*parts

	runtime *asl.Runtime // of tasks
	sending *asl.Runtime // of deliveries
	closing context.Context
	close   context.CancelFunc
	done    sync.WaitGroup
	late    sync.WaitGroup // invocations that the service has given up
	feed    ledger.Feed

	mu    sync.Mutex
	doors []*process
	read  string // of the feed, as far as its reader has come
}

const (
	stepFunction   = "arn:aws:lambda:local:000000000000:function:step"
	settleFunction = "arn:aws:lambda:local:000000000000:function:settle"
	sendFunction   = "arn:aws:lambda:local:000000000000:function:deliver"
	// invocation is how long a function may run.
	invocation = 70 * time.Second
	reserve    = 10 * time.Second
)

func newCloud(p *parts, doors int, feed ledger.Feed) (*cloud, error) {
	c := &cloud{parts: p, doors: make([]*process, doors), feed: feed}
	service := c.w.newProcess("machine")
	run := func(text string, functions map[string]string) (*asl.Runtime, error) {
		machine, err := asl.Parse([]byte(text), functions)
		if err != nil {
			return nil, err
		}
		return asl.NewRuntime(machine, asl.Options{Invoke: c.invoke, Now: time.Now, Rand: service.rand, NewToken: service.secret})
	}
	var err error
	if c.runtime, err = run(statemachine.Task, map[string]string{"StepFunctionArn": stepFunction, "SettleFunctionArn": settleFunction}); err != nil {
		return nil, err
	}
	c.sending, err = run(statemachine.Delivery, map[string]string{"DeliverFunctionArn": sendFunction})
	return c, err
}

func (c *cloud) start() {
	c.closing, c.close = context.WithCancel(context.Background())
	for i := range c.doors {
		c.done.Go(func() { c.keepDoor(i) })
	}
	c.done.Go(c.follow)
	c.done.Go(c.sweepOften)
}

// stop lets everything rest but the executions that wait: they are the service's.
func (c *cloud) stop() {
	c.close()
	c.done.Wait()
}

// end ends the service as well.
func (c *cloud) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*invocation)
	defer cancel()
	for _, r := range []*asl.Runtime{c.runtime, c.sending} {
		if err := r.Stop(ctx); err != nil {
			c.w.broken("machine", "executions cannot be stopped: %v", err)
		}
	}
	c.late.Wait()
}

func (c *cloud) busy() int { return c.runtime.Stats().Running }

func (c *cloud) door(n uint64) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doors[n%uint64(len(c.doors))]
}

func (c *cloud) deploy() {
	for i := range c.doors {
		if p := c.door(uint64(i)); p != nil {
			p.crash.Kill() // functions are replaced between requests, or in them
		}
		<-time.NewTimer(30 * time.Second).C
	}
}

// base are the parts that every function makes.
func (c *cloud) base(p *process) (*ledger.Authority, *dispatch.Dispatcher, push.Config) {
	l, m := p.ledger(), c.monitor(p)
	authority := &ledger.Authority{Ledger: m.Ledger(l), Now: p.now, NewID: p.newID}
	hooks := push.Config{
		Ledger: l, Ring: keyring.New(c.w.ring), Client: p.client(), Now: p.now, Dice: p.rand, NewID: p.newID,
		Grace: lifecycle.DefaultGrace, Logger: c.logger(p), Executions: &sending{p, c.sending}, Watch: m,
	}
	return authority, &dispatch.Dispatcher{Authority: authority, Executions: &executions{p, c.runtime}, Grace: lifecycle.DefaultGrace, Watch: m}, hooks
}

// keepDoor lives through the lives of one instance of the door.
func (c *cloud) keepDoor(i int) {
	for c.closing.Err() == nil {
		p := c.w.newProcess("door-" + string(rune('a'+i)))
		ctx, cancel := p.living(c.closing)
		if err := c.openDoor(ctx, p); err != nil {
			c.w.broken("door", "a door cannot be made: %v", err)
			cancel()
			return
		}
		c.mu.Lock()
		c.doors[i] = p
		c.mu.Unlock()
		<-ctx.Done()
		cancel()
		c.mu.Lock()
		c.doors[i] = nil
		c.mu.Unlock()
		if c.closing.Err() != nil {
			p.drain()
			return
		}
		_ = rest(c.closing, time.Duration(p.number("pause")%uint64(5*time.Second))+time.Millisecond)
	}
}

func (c *cloud) openDoor(closing context.Context, p *process) error {
	agents, err := c.agents(p, int(c.w.release.Load()))
	if err != nil {
		return err
	}
	offered, err := offer.Agents(agents, c.policies)
	if err != nil {
		return err
	}
	authority, dispatcher, hooks := c.base(p)
	door, err := api.New(api.Config{
		Authority: authority, Blobs: p.blobs(), Agents: offered, Executions: dispatcher, Callers: c.callers(p.now),
		Keys: keyring.New(c.w.ring), Push: hooks.Door(), Receipts: c.receipts(p.now), Now: p.now, NewID: p.newID, Policies: c.policies,
		Closing: closing, Logger: c.logger(p), Watch: c.monitor(p), KeepAlive: 20 * time.Second, StreamLimit: 4 * time.Minute,
	})
	if err != nil {
		return err
	}
	operators, err := console.New(console.Config{
		Authority: authority, Callers: c.callers(p.now), Agents: offer.Versions(agents), Executions: dispatcher, Replay: hooks.Replay,
		Now: p.now, NewID: p.newID, Grace: lifecycle.DefaultGrace, Logger: c.logger(p),
	})
	if err != nil {
		return err
	}
	p.server = operators.Beside(door)
	return nil
}

// follow reads the change feed, which is out of order, comes again, and loses what
// failed too often, and hands batches to the function that follows it.
func (c *cloud) follow() {
	reader := c.w.newProcess("feed")
	warm := &webhook.Receivers{} // a function's instance outlives its invocations, until it dies
	for rest(c.closing, 200*time.Millisecond+time.Duration(reader.number("poll")%uint64(3*time.Second))) == nil {
		changes, err := c.feed.Changes(c.closing, c.read, 16)
		if err != nil || len(changes) == 0 {
			continue
		}
		for range 3 {
			batch := changes
			if c.w.bad() && reader.number("loss")%16 == 0 { // poisoned, and left out
				c.w.hit("feed record lost")
				batch = batch[1:]
			}
			err := c.batch(batch, warm)
			if errors.Is(err, ledgertest.ErrCrashed) {
				warm = &webhook.Receivers{}
			}
			if err == nil || !c.w.bad() {
				break
			}
			c.w.hit("feed batch again")
		}
		c.read = changes[len(changes)-1].Position
	}
}

// batch is one invocation of the function that follows the feed.
func (c *cloud) batch(changes []ledger.Change, warm *webhook.Receivers) error {
	p := c.w.newProcess("stream")
	defer p.drain()
	ctx, cancel := p.living(c.closing)
	defer cancel()
	_, _, hooks := c.base(p)
	hooks.Receivers = warm
	sender, err := hooks.Sender(ctx)
	if err != nil {
		return err
	}
	told := make([]ledger.Change, 0, len(changes))
	for _, at := range latest(changes) {
		told = append(told, push.Change(at.Ref, at.Entry.Seq))
	}
	again := (&webhook.Fast{Sender: sender, Budget: 3 * time.Second, Beside: 4}).Tell(ctx, told)
	if p.crash.Crashed() {
		return ledgertest.ErrCrashed
	}
	if len(again) > 0 {
		return errNetwork
	}
	return nil
}

// latest is the highest entry of each task in a batch, in the order of their first.
func latest(changes []ledger.Change) []ledger.Change {
	var out []ledger.Change
	at := map[lifecycle.Ref]int{}
	for _, change := range changes {
		i, known := at[change.Ref]
		switch {
		case change.Ref.Task == "": // purged
		case !known:
			at[change.Ref] = len(out)
			out = append(out, change)
		case change.Entry.Seq > out[i].Entry.Seq:
			out[i] = change
		}
	}
	return out
}

// sweepOften is the schedule with its function, whose instance lives on until it dies.
func (c *cloud) sweepOften() {
	for c.closing.Err() == nil {
		p := c.w.newProcess("sweep")
		agents, err := c.agents(p, int(c.w.release.Load()))
		if err != nil {
			c.w.broken("sweep", "a sweep cannot be made: %v", err)
			return
		}
		ctx, cancel := p.living(c.closing)
		c.sweepWith(ctx, p, agents)
		cancel()
		p.drain()
	}
}

func (c *cloud) sweepWith(ctx context.Context, p *process, agents *catalog.Catalog) {
	authority, dispatcher, hooks := c.base(p)
	planner := hooks.Planner()
	tasks := &sweep.Sweeper{
		Authority: authority, Executions: dispatcher, Page: 3, Most: 5, Logger: c.logger(p), Watch: c.monitor(p),
		Known: func(agent string, version int) bool { _, known := agents.Lookup(agent, version); return known }, Outside: agents.Outside,
	}
	deliveries := hooks.Sweeper(planner, planner.Hand)
	purges := c.purges(p, forgetPatience)
	release := c.w.release.Load()
	for release == c.w.release.Load() && rest(ctx, 30*time.Second+time.Duration(p.number("tick")%uint64(40*time.Second))) == nil {
		if p.number("survey")%4 == 0 {
			c.survey(ctx, p, agents)
		}
		_, _ = tasks.Run(ctx)
		_, _ = deliveries.Run(ctx)
		_, _ = purges.Run(ctx)
	}
}

// forgetPatience is what the sweep leaves to whoever is told of expired tasks.
const forgetPatience = time.Hour

func (c *cloud) purges(p *process, patience time.Duration) *sweep.Purges {
	return &sweep.Purges{
		Purger:   &ledger.Purger{Purges: p.ledger(), Blobs: p.blobs(), Now: p.now, KeyNote: lifecycle.DefaultKeyNote},
		Patience: patience, Page: 2, Most: 4, Beside: 2, Within: 20 * time.Second, Logger: c.logger(p),
	}
}

// expire is the removal of a task's expiry marker by the database, some time after it is
// due, and the function that is told of it.
func (c *cloud) expire(ref lifecycle.Ref) {
	p := c.w.newProcess("stream")
	defer p.drain()
	ctx, cancel := p.living(c.closing)
	defer cancel()
	c.purges(p, 0).Tasks(ctx, []lifecycle.Ref{ref})
}
