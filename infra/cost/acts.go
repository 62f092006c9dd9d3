package main

import (
	"context"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// acts is the ledger of the step function: it gives what is written a name.
type acts struct {
	ledger.Ledger

	meter *dynamo.Meter
	note  func(name string, u dynamo.Units)
}

func (a acts) act(name string, do func() error) error {
	before := a.meter.Spent()
	err := do()
	a.note(name, a.meter.Spent().Sub(before))
	return err
}

// Commit implements ledger.Tasks.
func (a acts) Commit(ctx context.Context, c ledger.Commit) error {
	return a.act(actOf(c.Seen, c.Head), func() error { return a.Ledger.Commit(ctx, c) })
}

// Intend implements ledger.Effects.
func (a acts) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return a.act("effect's intent", func() error { return a.Ledger.Intend(ctx, ref, e) })
}

// Settle implements ledger.Effects.
func (a acts) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return a.act("effect's result", func() error { return a.Ledger.Settle(ctx, ref, e) })
}

// Park implements ledger.Tokens.
func (a acts) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (out ledger.Parked, err error) {
	err = a.act("park", func() error {
		out, err = a.Ledger.Park(ctx, ref, pause, t)
		return err
	})
	return out, err
}

// actOf is what a commit does, by the head before and after it.
func actOf(was, is lifecycle.Head) string {
	switch {
	case is.Terminal():
		return "end"
	case is.Pause != nil && was.Pause == nil:
		return "pause"
	case is.Fence > was.Fence && was.State == lifecycle.Submitted:
		return "first lease"
	case is.Fence > was.Fence:
		return "lease"
	case is.Visit > was.Visit:
		return "step"
	default:
		return "sub-step"
	}
}
