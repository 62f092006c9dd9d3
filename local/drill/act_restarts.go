package main

import (
	"context"
	"errors"
	"fmt"
)

// playRestarts tells the story of T-42 once more, with the product killed and started
// again between every two of its chapters; and looks after the task that is at work
// since the first act. That every restart between two acts left what had come to rest
// as it was, each of them has checked.
func (d *drill) playRestarts(ctx context.Context) (string, error) {
	if d.t42s.Manifest == "" {
		return "", errors.New("there is no T-42 to compare with")
	}
	before := d.starts
	t := d.newTrace("T-42 restarted")
	if err := t.tellAll(ctx, d.restart, untilInput, untilDraft, untilEnd); err != nil {
		return "", err
	}
	p, whole, err := pictureOf(ctx, t.door, t.task)
	if err != nil {
		return "", err
	}
	if diff := d.t42s.differs(p); diff != "" {
		return "", fmt.Errorf("it differs from act 1: %s", diff)
	}
	d.rest(t.door, t.task, whole.Head)
	twin, err := d.twin.ledger(ctx, d.twin.task, 0)
	if err != nil {
		return "", err
	}
	if h := twin.Head; h.State != stateWorking || h.Seq != 11 || h.Fence != 3 || h.Generation != 1 {
		return "", fmt.Errorf("the task that is at work since act 1 is %+v", h)
	}
	return fmt.Sprintf("%d kills so far, then %d within T-42, which is as in act 1; %d tasks at rest as they were, one at work since act 1 under its fence",
		before-1, d.starts-before, len(d.rests)-1), nil
}
