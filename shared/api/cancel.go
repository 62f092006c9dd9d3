package api

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// cancelTask asks for a cancellation (A2A §3.1.5). A task that somebody works on
// is canceled by its holder, for which the caller waits a little.
func (c *call) cancelTask(q request) { c.answer(c.cancel(q.id)) }

func (c *call) cancel(id a2a.TaskID) (*wireTask, error) {
	ctx, stop := c.commitment()
	defer stop()
	h, err := c.known(id)
	if err != nil {
		return nil, err
	}
	f := c.follow(id)
	if !h.Terminal() {
		t, err := c.whole(ctx, h)
		if err != nil {
			return nil, err
		}
		res, err := c.Authority.Do(ctx, t, lifecycle.RequestCancel{Principal: c.who.Hash()}, lifecycle.Source{Producer: c.producer()}, ledger.Extra{})
		c.answered(ctx, res)
		// A task that ended first is not canceled; how it ended is read below.
		if err != nil && !lifecycle.RejectedFor(err, lifecycle.PostTerminal) {
			return nil, err
		}
	}
	if err := f.load(c.r.Context()); err != nil {
		return nil, err
	}
	if err := c.waitFor(f, c.CancelWait, a2a.TaskState.Terminal); err != nil {
		return nil, err
	}
	// Whoever asked twice, or was second, gets the canceled task (§3.3.1).
	if s := f.view.State(); s.Terminal() && s != lifecycle.Canceled {
		out := refuse(a2a.ErrTaskNotCancelable, "The task has ended as %s.", s)
		out.task = id
		return nil, out
	}
	return wireTaskOf(f.view.Task(), nil), nil
}
