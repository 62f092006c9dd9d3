package webhook

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Sweeper finds endpoints that somebody should have delivered to: the hint was lost,
// the sender died, nobody came back for the next attempt. It is a net under everything
// else, and two at once do no harm.
type Sweeper struct {
	Sender *Sender
	// Head reads a task's last sequence, and whether it has ended, strongly consistent.
	// ledger.ErrNotFound: it has expired.
	Head func(ctx context.Context, at ledger.DueDelivery) (seq uint64, ended bool, err error)
	// Go delivers what an endpoint lacks, or tells somebody to.
	Go func(ctx context.Context, at ledger.DueDelivery) error
	// Page is how many endpoints are read at a time, Most how many are looked at in one
	// run, Beside how many deliveries are made side by side.
	Page, Most, Beside int

	place ledger.Place[ledger.DeliveryCursor]
}

// Swept counts what one run did.
type Swept struct {
	Looked  int // endpoints that were due, and not broken off
	Behind  int // delivered to, or told to be
	Settled int // have everything, or take no more
	Skipped int // nothing to do yet
	Failed  int // could not be handled; the next run tries again
}

// Run sweeps once, and returns when its deliveries have. It advances past everything
// that it looked at, and goes on where the last run had to stop, so that no number of
// endpoints that it must skip keeps it from the others. An error about one endpoint
// does not end the run.
func (s *Sweeper) Run(ctx context.Context) (Swept, error) {
	var (
		found  Swept
		failed atomic.Int64
		all    sync.WaitGroup
		beside = make(chan struct{}, max(1, s.Beside))
	)
	complain := func(at ledger.DueDelivery, err error) {
		failed.Add(1)
		s.Sender.Logger.Warn("the sweep could not handle an endpoint", "tenant", at.Ref.Tenant, "task", at.Ref.Task, "endpoint", at.ID, "error", err)
	}
	finish := func(err error) (Swept, error) {
		all.Wait()
		found.Failed = int(failed.Load())
		return found, err
	}
	after, now := s.place.Take(), s.Sender.Now()
	for found.Looked < s.Most {
		page, err := s.Sender.Endpoints.DueDeliveries(ctx, now, after, min(s.Page, s.Most-found.Looked))
		if err != nil {
			return finish(err)
		}
		for _, at := range page.Due {
			behind, err := s.look(ctx, at, &found)
			if ctx.Err() != nil {
				return finish(ctx.Err())
			}
			found.Looked++
			switch {
			case err != nil:
				complain(at, err)
			case behind:
				found.Behind++
				beside <- struct{}{}
				all.Go(func() {
					defer func() { <-beside }()
					if err := s.Go(ctx, at); err != nil {
						complain(at, err)
					}
				})
			}
		}
		if after = page.Next; after == nil {
			break
		}
	}
	s.place.Leave(after)
	return finish(nil)
}

// look says whether there is something to deliver, and settles an endpoint that was
// only to be looked at.
func (s *Sweeper) look(ctx context.Context, at ledger.DueDelivery, found *Swept) (bool, error) {
	e, err := s.Sender.Endpoints.Endpoint(ctx, at.Ref, at.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		found.Skipped++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d, now := e.Delivery, s.Sender.Now()
	switch {
	case d.DueAt.IsZero(), d.DueAt.After(now), held(d, now), now.Before(d.NextAt):
		found.Skipped++ // also what somebody has handled since the index was read
		return false, nil
	case d.State != ledger.DeliveryActive:
		return false, s.settle(ctx, at, e, time.Time{}, found)
	}
	seq, ended, err := s.Head(ctx, at)
	switch {
	case errors.Is(err, ledger.ErrNotFound): // it has expired: what is wanted is beside the point
		e.Delivery = over(e.Delivery, now)
		return false, s.settle(ctx, at, e, time.Time{}, found)
	case err != nil:
		return false, err
	case !d.Idle(), d.Behind(), d.Cursor < seq:
		return true, nil
	case ended:
		return false, s.settle(ctx, at, e, time.Time{}, found)
	}
	return false, s.settle(ctx, at, e, now.Add(patience(e, now)), found)
}

// patience is how long to leave an idle endpoint alone: as long as nothing has happened
// to it, within bounds.
func patience(e ledger.Endpoint, now time.Time) time.Duration {
	last := e.CreatedAt
	if n := len(e.Delivery.Attempts); n > 0 && e.Delivery.Attempts[n-1].At.After(last) {
		last = e.Delivery.Attempts[n-1].At
	}
	return min(max(now.Sub(last), CheckEvery), CheckMost)
}

// settle says when to look again. Whoever came first had a reason to say otherwise.
func (s *Sweeper) settle(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, dueAt time.Time, found *Swept) error {
	found.Settled++
	d := e.Delivery
	d.DueAt = dueAt
	d.Revision++
	err := s.Sender.Endpoints.Deliver(ctx, at.Ref, at.ID, d)
	if errors.Is(err, ledger.ErrDeliveryChanged) {
		return nil
	}
	return ledger.IgnoreNotFound(err)
}
