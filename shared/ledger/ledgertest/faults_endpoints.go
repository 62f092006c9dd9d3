package ledgertest

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func (l *faultyLedger) PutEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	return write(ctx, l.faults, Call{Method: "PutEndpoint", Ref: ref, ID: e.ID}, func(ctx context.Context) error { return l.inner.PutEndpoint(ctx, ref, e) }, nil)
}

func (l *faultyLedger) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (ledger.Endpoint, error) {
	return read(ctx, l.faults, Call{Method: "Endpoint", Ref: ref, ID: id}, func(ctx context.Context) (ledger.Endpoint, error) { return l.inner.Endpoint(ctx, ref, id) })
}

func (l *faultyLedger) EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error) {
	return read(ctx, l.faults, Call{Method: "EndpointList", Ref: ref}, func(ctx context.Context) ([]ledger.Endpoint, error) { return l.inner.EndpointList(ctx, ref) })
}

func (l *faultyLedger) DeleteEndpoint(ctx context.Context, ref lifecycle.Ref, id string) error {
	return write(ctx, l.faults, Call{Method: "DeleteEndpoint", Ref: ref, ID: id}, func(ctx context.Context) error { return l.inner.DeleteEndpoint(ctx, ref, id) }, nil)
}

func (l *faultyLedger) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	return write(ctx, l.faults, Call{Method: "Want", Ref: ref, ID: id}, func(ctx context.Context) error { return l.inner.Want(ctx, ref, id, seq, now) }, nil)
}

// Deliver may answer that the delivery was changed, though it was not.
func (l *faultyLedger) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	changed := func(ctx context.Context) error {
		if _, err := l.inner.Endpoint(ctx, ref, id); err != nil {
			return err
		}
		return ledger.ErrDeliveryChanged
	}
	return write(ctx, l.faults, Call{Method: "Deliver", Ref: ref, ID: id}, func(ctx context.Context) error { return l.inner.Deliver(ctx, ref, id, d) }, changed)
}

func (l *faultyLedger) DueDeliveries(ctx context.Context, before time.Time, after *ledger.DeliveryCursor, limit int) (ledger.DeliveryPage, error) {
	question := ledger.DeliveryCursor{}
	if after != nil {
		question = *after
	}
	return ask(ctx, l.faults, Call{Method: "DueDeliveries", Ref: lifecycle.Ref{}}, question, func(ctx context.Context) (ledger.DeliveryPage, error) {
		return l.inner.DueDeliveries(ctx, before, after, limit)
	})
}
