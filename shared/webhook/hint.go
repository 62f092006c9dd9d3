package webhook

import (
	"context"
	"errors"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Hint says that a task has an entry. The endpoints that can have it at once are
// returned, for Send, and those that are slow or fail often, for Hand. One that has a
// sender at work is told that more is wanted, so that its sender does not rest; one that
// is being tried again gets it with what it lacks already. Nothing is written about the
// others: who delivers reads every entry there is, and reads it after the hint. The
// endpoints that could be told are returned together with the error about the others.
func (s *Sender) Hint(ctx context.Context, change ledger.Change) (now, later []ledger.DueDelivery, err error) {
	list, err := s.Endpoints.EndpointList(ctx, change.Ref)
	if err != nil {
		return nil, nil, err
	}
	var failed error
	seq, clock := change.Entry.Seq, s.Now()
	for _, e := range list {
		d, at := e.Delivery, ledger.DueDelivery{Ref: change.Ref, ID: e.ID}
		switch {
		case d.State != ledger.DeliveryActive || d.Cursor >= seq:
		case held(d, clock):
			if d.Wanted < seq {
				failed = errors.Join(failed, ledger.IgnoreNotFound(s.Endpoints.Want(ctx, change.Ref, e.ID, seq, clock)))
			}
		case !d.NextAt.IsZero(): // somebody was told to come
		case slow(d), s.Receivers.isSlow(e, clock):
			later = append(later, at)
		default:
			now = append(now, at)
		}
	}
	return now, later, failed
}

// slow says whether an endpoint would only waste the time of the others: it fails often,
// or was in no hurry when it took its last update.
func slow(d ledger.Delivery) bool {
	if d.Failures >= SlowAfter {
		return true
	}
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if a := d.Attempts[i]; a.Error == "" {
			return a.Millis >= slowTime.Milliseconds()
		}
	}
	return false
}

// remind tells a sender that was found at work of an entry that it may not have seen. It
// says whether it is at work still: one that has rested meanwhile is not told any more.
func (s *Sender) remind(ctx context.Context, at ledger.DueDelivery, seq uint64) (still bool, err error) {
	if err := s.Endpoints.Want(ctx, at.Ref, at.ID, seq, s.Now()); err != nil {
		return false, ledger.IgnoreNotFound(err)
	}
	e, err := s.Endpoints.Endpoint(ctx, at.Ref, at.ID)
	return err == nil && held(e.Delivery, s.Now()), ledger.IgnoreNotFound(err)
}
