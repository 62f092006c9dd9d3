package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Acknowledge keeps that a caller holds the export of an ended task, by the receipt that
// the export ends with, and gives the head as it is then. Twice is once, also when both
// come together: the first mark stays. Another receipt is a ReceiptMismatch rejection, a
// task that lives a NotDue one; one that has expired is not found, whether it is still
// there or not.
func (a *Authority) Acknowledge(ctx context.Context, ref lifecycle.Ref, of lifecycle.TerminalReceipt) (lifecycle.Head, error) {
	h, err := a.Ledger.Head(ctx, ref)
	if err != nil {
		return h, err
	}
	op := a.NewID()
	for range maxRounds {
		now := a.Now()
		if h.Expired(now) {
			return h, fmt.Errorf("task %s has expired: %w", ref, ErrNotFound)
		}
		owed := false
		if h.Terminal() && h.AckedAt.IsZero() {
			if owed, err = a.owed(ctx, h); err != nil {
				return h, err
			}
		}
		next, err := lifecycle.Acknowledge(h, of, owed, now)
		if err != nil || !h.AckedAt.IsZero() {
			return h, err
		}
		next.Op = op
		err = a.persist(ctx, func() error { return a.Ledger.Commit(ctx, Commit{Seen: h, Head: next}) })
		conflict, overtaken := errors.AsType[*Conflict](err)
		switch {
		case !overtaken:
			return next, err
		case ownSuccess(conflict, op):
			return next, nil
		}
		h = conflict.Current
	}
	return h, ErrBusy
}

// owed says whether a webhook of an ended task still lacks an update that it will be
// sent.
func (a *Authority) owed(ctx context.Context, h lifecycle.Head) (bool, error) {
	endpoints, err := a.Ledger.EndpointList(ctx, h.Ref())
	if err != nil {
		return false, err
	}
	for _, e := range endpoints {
		if e.Delivery.State == DeliveryActive && e.Delivery.Cursor < h.Seq {
			return true, nil
		}
	}
	return false, nil
}
