package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const (
	// deliverers is how many deliveries this process makes side by side. One receiver
	// gets at most half of them.
	deliverers = 64
	// deliveryBudget is how long one call of the sender may go on; it is called again.
	deliveryBudget = time.Minute
)

// deliveries brings webhooks what this process commits, as it commits it. What it does
// not see (the commits of other processes, of an earlier life) the sweep finds.
type deliveries struct {
	ctx     context.Context
	config  push.Config
	sender  *webhook.Sender
	sweeper *webhook.Sweeper
	lanes   *lanes
	done    sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	// tasks are those that have endpoints, as far as is known here.
	tasks map[lifecycle.Ref]bool
	// busy are the endpoints that are delivered to, or wait for their next attempt; who
	// does so is told by its channel to look once more.
	busy map[ledger.DueDelivery]chan struct{}
}

func newDeliveries(ctx context.Context, c push.Config) (*deliveries, error) {
	sender, err := c.Sender(ctx)
	if err != nil {
		return nil, err
	}
	d := &deliveries{
		ctx: ctx, config: c, sender: sender, lanes: newLanes(deliverers),
		tasks: map[lifecycle.Ref]bool{}, busy: map[ledger.DueDelivery]chan struct{}{},
	}
	d.sweeper = c.Sweeper(sender, func(_ context.Context, at ledger.DueDelivery) error {
		d.deliver(at)
		return nil
	})
	return d, nil
}

// recall learns which tasks have endpoints, when a process begins. With the proof that
// every earlier sender is gone it takes their leases: they would be waited for.
func (d *deliveries) recall(sendersGone bool) error {
	end := d.sender.Now().Add(lifecycle.MaxLife + lifecycle.MaxPause)
	var after *ledger.DeliveryCursor
	for {
		page, err := d.config.Ledger.DueDeliveries(d.ctx, end, after, 500)
		if err != nil {
			return err
		}
		for _, at := range page.Due {
			d.expect(at.Ref)
			if !sendersGone {
				continue
			}
			if err := d.free(at); err != nil {
				return err
			}
		}
		if after = page.Next; after == nil {
			return nil
		}
	}
}

// free ends the lease of a sender that is gone. What it was at is tried again at once.
func (d *deliveries) free(at ledger.DueDelivery) error {
	e, err := d.config.Ledger.Endpoint(d.ctx, at.Ref, at.ID)
	if err != nil || e.Delivery.Holder == "" {
		return ignore(err)
	}
	now := d.sender.Now()
	freed := e.Delivery
	freed.Holder, freed.LeaseUntil, freed.NextAt, freed.DueAt = "", time.Time{}, now, now
	freed.Revision++
	return ignore(d.config.Ledger.Deliver(d.ctx, at.Ref, at.ID, freed))
}

// ignore drops what says that somebody else has seen to it.
func ignore(err error) error {
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrDeliveryChanged) {
		return nil
	}
	return err
}

func (d *deliveries) expect(ref lifecycle.Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tasks[ref] = true
}

// committed is told of every commit with entries. It does not wait for what follows.
func (d *deliveries) committed(h lifecycle.Head) {
	d.mu.Lock()
	known := d.tasks[h.Ref()]
	if known && h.Terminal() {
		delete(d.tasks, h.Ref())
	}
	d.mu.Unlock()
	if !known {
		return
	}
	d.spawn(func() {
		now, later, err := d.sender.Hint(d.ctx, push.Change(h.Ref(), h.Seq))
		if err != nil && d.ctx.Err() == nil {
			d.sender.Logger.Warn("endpoints were not told; the sweep will", "tenant", h.Tenant, "task", h.Task, "seq", h.Seq, "error", err)
		}
		for _, at := range slices.Concat(now, later) { // one waits for nobody here
			d.deliver(at)
		}
	})
}

// deliver brings an endpoint what it lacks, and stays with it while its deliveries
// fail, until it has everything or takes no more.
func (d *deliveries) deliver(at ledger.DueDelivery) {
	d.mu.Lock()
	again, taken := d.busy[at]
	if taken {
		// Whoever is at it may have looked for the last time, or may wait for an attempt
		// that has become due since.
		select {
		case again <- struct{}{}:
		default:
		}
	} else {
		again = make(chan struct{}, 1)
		d.busy[at] = again
	}
	d.mu.Unlock()
	if taken {
		return
	}
	d.spawn(func() {
		for d.once(at, again) {
		}
	})
}

// Start implements webhook.Executions: no execution, but this process.
func (d *deliveries) Start(_ context.Context, _ string, x webhook.Execution) error {
	d.deliver(ledger.DeliveryTo(x.Tenant, x.Task, x.Endpoint))
	return nil
}

// spawn runs something beside the rest, unless this has stopped.
func (d *deliveries) spawn(run func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.done.Go(run)
	}
}

// stop waits for what runs. The context has ended.
func (d *deliveries) stop() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.done.Wait()
}

// once calls the sender, waits as long as it says, and reports whether to call it again.
func (d *deliveries) once(at ledger.DueDelivery, again chan struct{}) bool {
	result, err := d.send(at)
	if err != nil && d.ctx.Err() == nil {
		d.sender.Logger.Warn("a delivery was broken off; the sweep goes on with it", "tenant", at.Ref.Tenant, "task", at.Ref.Task, "endpoint", at.ID, "error", err)
	}
	if err != nil || d.ctx.Err() != nil || result.Word != webhook.Wait {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err == nil && len(again) > 0 { // only those who hold the lock add to it
			<-again
			return true
		}
		delete(d.busy, at)
		return false
	}
	pause := time.NewTimer(time.Duration(result.Seconds) * time.Second)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-again:
	case <-d.ctx.Done():
	}
	return true
}

// send calls the sender, on a slot of the receiver's.
func (d *deliveries) send(at ledger.DueDelivery) (webhook.Result, error) {
	e, err := d.config.Ledger.Endpoint(d.ctx, at.Ref, at.ID)
	if err != nil {
		return webhook.Result{Word: webhook.Done}, ignore(err)
	}
	lane := e.Origin()
	if err := d.lanes.enter(d.ctx, lane); err != nil {
		return webhook.Result{}, err
	}
	defer d.lanes.leave(lane)
	return d.sender.Send(d.ctx, at, deliveryBudget)
}

// noticing is the ledger of a process that tells its deliveries what was committed.
type noticing struct {
	ledger.Ledger

	deliveries *deliveries
}

// Create implements ledger.Tasks.
func (n *noticing) Create(ctx context.Context, c ledger.Creation) error {
	err := n.Ledger.Create(ctx, c)
	if err == nil && len(c.Endpoints) > 0 {
		n.deliveries.expect(c.Head.Ref())
		n.deliveries.committed(c.Head)
	}
	return err
}

// Commit implements ledger.Tasks.
func (n *noticing) Commit(ctx context.Context, c ledger.Commit) error {
	err := n.Ledger.Commit(ctx, c)
	if err == nil && len(c.Entries) > 0 {
		n.deliveries.committed(c.Head)
	}
	return err
}

// PutEndpoint implements ledger.Endpoints.
func (n *noticing) PutEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	n.deliveries.expect(ref)
	return n.Ledger.PutEndpoint(ctx, ref, e)
}
