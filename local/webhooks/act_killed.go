package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// killedOnTheWire kills the product while a receiver is about to answer: the update comes
// again, under its id, from the product that was started again, and then the rest.
func (t *trial) killedOnTheWire(ctx context.Context) ([]outcome, error) {
	p, err := t.openProduct(ctx, "killed")
	defer p.end()
	if err != nil {
		return nil, err
	}
	h, err := openHook(ctx, p.keys, status(200), hang)
	if err != nil {
		return nil, err
	}
	defer h.shut()
	began := time.Now()
	task, err := p.submit(ctx, "killed", countTo, h.url)
	if err != nil {
		return nil, err
	}
	err = until(ctx, "the second update is on the wire", p.running, func(context.Context) (bool, error) { return h.has(2), nil })
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.kill(), p.start(ctx)); err != nil {
		return nil, err
	}
	var all page
	err = until(ctx, "the task and its webhook have ended", p.running, func(ctx context.Context) (bool, error) {
		all, err = p.ledger(ctx, task)
		return err == nil && all.Head.State == stateCompleted && h.ended(), err
	})
	if err != nil {
		return nil, err
	}
	tries := h.seen()
	o, err := inOrder(tries, all.visible(), true)
	if err = errors.Join(err, h.sound()); err == nil && o.again == 0 {
		err = errors.New("the update that was on the wire did not come again")
	}
	if err != nil {
		return nil, err
	}
	shown, err := t.rested(ctx, p, fmt.Sprintf("active, has %d of %d", all.Head.Seq, all.Head.Seq), "--server", p.url(), task)
	t.count(o)
	return told("%s; %s; shown: %s", o, timeline(tries, began), shown), err
}
