package simulation_test

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Reflexes are callers who act at the very moment at which something is committed, so
// that what they ask meets whoever is at work in the middle of it. They know of the
// commit from the ledger itself: no client could be so quick, and any could be so lucky.

// next waits until the task has more than so many entries, and gives its head; false
// when that takes too long, or the task has ended.
func (e *errand) next(seq uint64) (lifecycle.Head, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if e.w.witness.Watch(ctx, e.ref, seq) != nil {
		return lifecycle.Head{}, false
	}
	h, err := e.w.witness.Head(ctx, e.ref)
	return h, err == nil && !h.Terminal()
}

// cancelAt cancels at one of the task's commits, some of them the last before its end,
// perhaps twice at once.
func (c *conduct) cancelAt() {
	from, seq := c.as("canceler"), uint64(0)
	last := from.dice.IntN(3) == 0
	for left := from.dice.IntN(8); left > 0 || last; left-- {
		h, lives := c.next(seq)
		if !lives {
			return
		}
		if seq = h.Seq; last && h.Holder != "" && c.ending() {
			break
		}
	}
	if from.dice.IntN(3) == 0 {
		other := c.as("second thoughts")
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.askToCancel(other)
		}()
		defer func() { <-done }()
	}
	c.askToCancel(from)
}

// ending says whether nothing is left of the task's plan but its end.
func (c *conduct) ending() bool {
	entries, err := c.w.witness.Entries(context.Background(), c.ref, 0, 0)
	if err != nil {
		return false
	}
	plan, mark, err := planIn(entries)
	if err != nil {
		return true // a worker outside has none
	}
	told, err := toldIn(entries)
	return err == nil && len(told)+1 >= len(planned(plan, mark))
}

// answerAt answers each question at the moment at which it is asked.
func (c *conduct) answerAt() {
	from, answered := c.as("answerer"), 0
	for seq := uint64(0); ; {
		h, lives := c.next(seq)
		if !lives {
			return
		}
		seq = h.Seq
		if h.State == lifecycle.InputRequired && h.Pause.Number > answered {
			answered = h.Pause.Number
			c.say(from, "at once", answered, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		}
	}
}

// attendAt has an operator look after the task at some of its commits, or a while later,
// when it waits for something.
func (c *conduct) attendAt() {
	i := slices.IndexFunc(c.w.operators, func(o *client) bool { return o.tenant == c.tenant })
	o := c.w.operators[i].as("attending " + c.name)
	for seq, left := uint64(0), 1+o.dice.IntN(4); left > 0; {
		h, lives := c.next(seq)
		if !lives {
			return
		}
		if seq = h.Seq; o.dice.IntN(2) == 0 {
			continue
		}
		if h.Holder == "" || o.dice.IntN(3) > 0 {
			o.pause([]time.Duration{10 * time.Millisecond, 20 * time.Second, 10 * time.Minute}[o.dice.IntN(3)])
		}
		c.w.attend(o, c.ref)
		left--
	}
}
