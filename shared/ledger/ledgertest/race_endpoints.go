package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// configured creates a task with one endpoint, whose delivery a sender holds at
// revision 1 unless it is idle.
func (d *desk) configured(ctx context.Context, busy bool) (lifecycle.Ref, ledger.Endpoint, error) {
	e := d.endpoint("one")
	t, err := d.submit(ctx)
	if err != nil {
		return t.Ref(), e, err
	}
	if err := d.ledger.PutEndpoint(ctx, t.Ref(), e); err != nil || !busy {
		return t.Ref(), e, err
	}
	e.Delivery = sending(e.CreatedAt)
	err = d.ledger.Deliver(ctx, t.Ref(), "one", e.Delivery)
	e.Delivery.Wanted = 1
	return t.Ref(), e, err
}

// twoSenders write a delivery on the same revision: one of them is right.
var twoSenders = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was right", "the second was right"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, e, err := d.configured(ctx, false)
		if err != nil {
			return "", err
		}
		deliver := func(holder string) func() error {
			return func() error {
				next := sending(e.CreatedAt)
				next.Holder = holder
				return d.ledger.Deliver(ctx, ref, "one", next)
			}
		}
		errs := both(deliver("first"), deliver("second"), s)
		stored, err := d.ledger.Endpoint(ctx, ref, "one")
		if err != nil {
			return "", err
		}
		if stored.Delivery.Revision != 1 {
			return "", fmt.Errorf("the delivery is at revision %d", stored.Delivery.Revision)
		}
		switch holder := stored.Delivery.Holder; {
		case errs[0] == nil && errors.Is(errs[1], ledger.ErrDeliveryChanged) && holder == "first":
			return "the first was right", nil
		case errs[1] == nil && errors.Is(errs[0], ledger.ErrDeliveryChanged) && holder == "second":
			return "the second was right", nil
		default:
			return "", fmt.Errorf("%q holds the endpoint; the senders were told %w and %w", holder, errs[0], errs[1])
		}
	},
}

// wantIdle raises what is wanted while the sender goes idle: either the sender
// learns of it, or the endpoint is due. Nothing is wanted that nobody sees.
var wantIdle = contest{
	rounds:   raceRounds,
	outcomes: []string{"the sender learned of it", "it is due"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, e, err := d.configured(ctx, true)
		if err != nil {
			return "", err
		}
		idle, now := ledger.Delivery{Cursor: 1, Revision: 2}, e.CreatedAt.Add(time.Second)
		errs := both(
			func() error { return d.ledger.Want(ctx, ref, "one", 2, now) },
			func() error { return d.ledger.Deliver(ctx, ref, "one", idle) }, s)
		if errs[0] != nil {
			return "", fmt.Errorf("wanting more: %w", errs[0])
		}
		stored, err := d.ledger.Endpoint(ctx, ref, "one")
		if err != nil {
			return "", err
		}
		switch {
		case errors.Is(errs[1], ledger.ErrDeliveryChanged):
			e.Delivery.Wanted = 2
			return "the sender learned of it", same("the delivery", stored.Delivery, e.Delivery)
		case errs[1] == nil:
			idle.Wanted, idle.DueAt = 2, now
			return "it is due", same("the delivery", stored.Delivery, idle)
		default:
			return "", fmt.Errorf("going idle: %w", errs[1])
		}
	},
}

// putDelete configures an endpoint anew while it is removed: it is gone, or it is
// a new one. Nothing of the old one is under the new configuration.
var putDelete = contest{
	rounds:   raceRounds,
	outcomes: []string{"it is gone", "it is new"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, _, err := d.configured(ctx, true)
		if err != nil {
			return "", err
		}
		d.clock.Advance(time.Minute)
		next := d.endpoint("one")
		next.URL = "https://elsewhere.example.com"
		errs := both(
			func() error { return d.ledger.PutEndpoint(ctx, ref, next) },
			func() error { return d.ledger.DeleteEndpoint(ctx, ref, "one") }, s)
		if err := errors.Join(errs[:]...); err != nil {
			return "", err
		}
		stored, err := d.ledger.Endpoint(ctx, ref, "one")
		if isNotFound(err) {
			return "it is gone", nil
		}
		if err != nil {
			return "", err
		}
		return "it is new", same("the endpoint", stored, next)
	},
}

// deliverDelete writes a delivery, and what is wanted, of an endpoint that is
// being removed: neither brings it back.
var deliverDelete = contest{
	rounds:   raceRounds,
	outcomes: []string{"the delivery was first", "the removal was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, e, err := d.configured(ctx, true)
		if err != nil {
			return "", err
		}
		next := e.Delivery
		next.Revision = 2
		errs := both(
			func() error {
				err := d.ledger.Deliver(ctx, ref, "one", next)
				if late := d.ledger.Want(ctx, ref, "one", 9, e.CreatedAt); late != nil && !isNotFound(late) {
					return late
				}
				return err
			},
			func() error { return d.ledger.DeleteEndpoint(ctx, ref, "one") }, s)
		if errs[1] != nil {
			return "", fmt.Errorf("the removal: %w", errs[1])
		}
		all, err := d.ledger.EndpointList(ctx, ref)
		switch {
		case err != nil:
			return "", err
		case len(all) > 0:
			return "", errors.New("a removed endpoint came back")
		case errs[0] == nil:
			return "the delivery was first", nil
		case isNotFound(errs[0]):
			return "the removal was first", nil
		default:
			return "", fmt.Errorf("the delivery: %w", errs[0])
		}
	},
}

// manyWanting lets several records raise what is wanted, while the endpoint is
// configured anew and its sender moves on: the highest stays, and nothing is lost.
var manyWanting = contest{
	rounds:   raceRounds / 2,
	outcomes: []string{"all of it is kept"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, e, err := d.configured(ctx, true)
		if err != nil {
			return "", err
		}
		const highest = 6
		want := e
		want.URL, want.Delivery.Cursor, want.Delivery.Revision = "https://elsewhere.example.com", 2, 2
		var all sync.WaitGroup
		errs := make([]error, highest)
		for i := range highest {
			all.Go(func() { errs[i] = d.ledger.Want(ctx, ref, "one", uint64(highest-i), e.CreatedAt) })
		}
		written := both(
			func() error { return d.ledger.PutEndpoint(ctx, ref, want) },
			func() error { return d.ledger.Deliver(ctx, ref, "one", want.Delivery) }, s)
		all.Wait()
		if err := errors.Join(errors.Join(errs...), errors.Join(written[:]...)); err != nil {
			return "", err
		}
		stored, err := d.ledger.Endpoint(ctx, ref, "one")
		if err != nil {
			return "", err
		}
		want.Delivery.Wanted = highest
		return "all of it is kept", same("the endpoint", stored, want)
	},
}

// lastPlaces lets several callers put new endpoints where there is room for one:
// at least one gets it, and the limit is passed by no more than the port says.
var lastPlaces = contest{
	rounds:   raceRounds / 10,
	outcomes: []string{"there are as many as were taken"},
	round: func(ctx context.Context, d *desk, _ start) (string, error) {
		const racers = 3
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		for i := range ledger.MaxEndpoints - 1 {
			if err := d.ledger.PutEndpoint(ctx, t.Ref(), d.endpoint(fmt.Sprint(i))); err != nil {
				return "", err
			}
		}
		var all sync.WaitGroup
		errs := make([]error, racers)
		for i := range racers {
			all.Go(func() { errs[i] = d.ledger.PutEndpoint(ctx, t.Ref(), d.endpoint(fmt.Sprint("racer-", i))) })
		}
		all.Wait()
		taken := 0
		for _, err := range errs {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, ledger.ErrTooManyEndpoints):
				return "", err
			}
		}
		stored, err := d.ledger.EndpointList(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if n := len(stored); taken < 1 || n != ledger.MaxEndpoints-1+taken {
			return "", fmt.Errorf("%d endpoints, of %d racers %d were told that theirs was taken", n, racers, taken)
		}
		return "there are as many as were taken", nil
	},
}
