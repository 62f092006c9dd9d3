package api

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// follower reads a task's entries as they are committed and folds them. An
// answer, a blocking wait and a stream are this one fold, read to different ends.
type follower struct {
	ledger ledger.Tasks
	ref    lifecycle.Ref
	view   *lifecycle.View
}

func (c *call) follow(id a2a.TaskID) *follower {
	ref := c.refTo(id)
	return &follower{ledger: c.Authority.Ledger, ref: ref, view: lifecycle.NewView(ref, c.blobURL(id))}
}

// read folds what was committed since the last time. each, if there is one, gets
// every update that callers see, with its sequence.
func (f *follower) read(ctx context.Context, each func(seq uint64, update a2a.Event)) error {
	entries, err := f.ledger.Entries(ctx, f.ref, f.view.Seq(), 0)
	if err != nil {
		return err
	}
	return f.intact(ctx, f.add(entries, each))
}

// intact is the error of a fold, which is no fault when the task is purged right now and
// some of its entries are gone.
func (f *follower) intact(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, gone := f.ledger.Head(ctx, f.ref); errors.Is(gone, ledger.ErrNotFound) {
		return notFound(f.ref.Task)
	}
	return err
}

func (f *follower) add(entries []lifecycle.Entry, each func(seq uint64, update a2a.Event)) error {
	for _, e := range entries {
		update, err := f.view.Add(e)
		if err != nil {
			return err
		}
		if update != nil && each != nil {
			each(e.Seq, update)
		}
	}
	return nil
}

// load folds the whole task. A task without entries was purged a moment ago.
func (f *follower) load(ctx context.Context) error {
	if err := f.read(ctx, nil); err != nil {
		return err
	}
	if f.view.Seq() == 0 {
		return notFound(f.ref.Task)
	}
	return nil
}

// rests says whether a blocking send is over in state s (A2A §3.2.2).
func rests(s a2a.TaskState) bool { return s.Terminal() || lifecycle.Interrupted(s) }

// commitment is the context of a command: it outlives the caller (§3.5.2), and
// ends by its own timeout.
func (c *call) commitment() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.r.Context()), c.CommitTimeout)
}

// patience is a context for waiting: it ends with the caller, with the budget, and
// when the process begins to stop.
func (c *call) patience(budget time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c.r.Context(), budget)
	unhook := context.AfterFunc(c.Closing, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// waitFor waits, within a budget, for a state, and folds the task as it is then:
// that the budget is spent is no error. It looks at heads while it waits, which
// cost a ledger less than entries do.
func (c *call) waitFor(f *follower, budget time.Duration, ended func(a2a.TaskState) bool) error {
	seq, state := f.view.Seq(), f.view.State()
	if ended(state) {
		return nil
	}
	ctx, cancel := c.patience(budget)
	defer cancel()
	for !ended(state) {
		err := f.ledger.Watch(ctx, f.ref, seq)
		if err == nil {
			var h lifecycle.Head
			h, err = f.ledger.Head(ctx, f.ref)
			seq, state = h.Seq, h.State
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
	}
	return f.read(c.r.Context(), nil)
}
