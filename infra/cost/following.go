package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// firstBudget is what the stream function gives an endpoint.
const firstBudget = 3 * time.Second

// delivering is the name under which the stream function's units stand.
const delivering = "deliver"

// following is a ledger whose commits with entries the stream function is told of at once, one by one: as on a table
// that is quiet otherwise.
type following struct {
	ledger.Ledger

	told func(ctx context.Context, h lifecycle.Head) error
}

// Create implements ledger.Tasks.
func (f following) Create(ctx context.Context, c ledger.Creation) error {
	if err := f.Ledger.Create(ctx, c); err != nil {
		return err
	}
	return f.told(ctx, c.Head)
}

// Commit implements ledger.Tasks.
func (f following) Commit(ctx context.Context, c ledger.Commit) error {
	err := f.Ledger.Commit(ctx, c)
	if err != nil || len(c.Entries) == 0 {
		return err
	}
	return f.told(ctx, c.Head)
}

// hooks are webhooks that lead to this machine.
func (s *stack) hooks(now func() time.Time) push.Config {
	return push.Config{
		Ring: keyring.New(&keyring.Memory{}), Now: now, Dice: middle, NewID: newID, Grace: lifecycle.DefaultGrace,
		Guard:  webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// streamed is one invocation of the stream function: it tells the task's endpoints, and makes the first attempts.
func (s *stack) streamed(ctx context.Context, h lifecycle.Head) error {
	before := s.meters[fnStream].Spent()
	fast := webhook.Fast{Sender: s.sender, Budget: firstBudget, Beside: 1}
	if again := fast.Tell(ctx, []ledger.Change{push.Change(h.Ref(), h.Seq)}); len(again) > 0 {
		return fmt.Errorf("the endpoints of task %s were not told", h.Task)
	}
	u := s.meters[fnStream].Spent().Sub(before)
	s.did(fnStream, work{Invocations: 1, Dynamo: u.Requests})
	s.add(fnStream, delivering, u)
	return nil
}

// newFollower makes the stream function's part of a stack.
func (s *stack) newFollower(ctx context.Context, store *storage, hooks push.Config) (err error) {
	if s.deliveries, err = s.newDeliveries(store, hooks); err != nil {
		return err
	}
	s.meters[fnStream] = dynamo.NewMeter(store.client)
	hooks.Ledger, hooks.Executions = store.ledger(s.meters[fnStream]), s.deliveries
	s.sender, err = hooks.Sender(ctx)
	return err
}
