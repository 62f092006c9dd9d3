package webhook

import (
	"context"
	"errors"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Hint says that a task has an entry. The endpoints that can have it at once are
// returned, for Send. One that has a sender at work is told that more is wanted, so
// that its sender does not rest; one that is being tried again or fails often gets it
// with what it lacks already. Nothing is written about the others: who delivers reads
// every entry there is, and reads it after the hint. The endpoints that could be told
// are returned together with the error about the others.
func (s *Sender) Hint(ctx context.Context, change ledger.Change) ([]ledger.DueDelivery, error) {
	list, err := s.Endpoints.EndpointList(ctx, change.Ref)
	if err != nil {
		return nil, err
	}
	var due []ledger.DueDelivery
	var failed error
	seq, now := change.Entry.Seq, s.Now()
	for _, e := range list {
		d := e.Delivery
		if d.State != ledger.DeliveryActive || d.Cursor >= seq {
			continue
		}
		if d.Wanted < seq && held(d, now) {
			if err := s.Endpoints.Want(ctx, change.Ref, e.ID, seq, now); err != nil {
				if !errors.Is(err, ledger.ErrNotFound) {
					failed = errors.Join(failed, err)
				}
			}
			continue
		}
		if d.Failures < SlowAfter && !held(d, now) && !now.Before(d.NextAt) {
			due = append(due, ledger.DueDelivery{Ref: change.Ref, ID: e.ID})
		}
	}
	return due, failed
}

// Replay delivers again what comes after a sequence, also where a delivery was given
// up or the endpoint said that it was gone. A later sequence than the cursor leaves out
// what lies between: an update that a receiver will never take blocks no longer.
// ErrDeliveryChanged: a sender is at work; wait for it.
func (s *Sender) Replay(ctx context.Context, at ledger.DueDelivery, since uint64) error {
	e, err := s.Endpoints.Endpoint(ctx, at.Ref, at.ID)
	if err != nil {
		return err
	}
	now := s.Now()
	if held(e.Delivery, now) {
		return ledger.ErrDeliveryChanged
	}
	w := work{s: s, at: at, e: e}
	d := w.released()
	d.State, d.Cursor, d.Attempt, d.Failures, d.NextAt, d.DueAt = ledger.DeliveryActive, since, 0, 0, now, now
	return w.write(ctx, d)
}
