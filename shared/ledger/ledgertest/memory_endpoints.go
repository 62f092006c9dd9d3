package ledgertest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var _ ledger.Endpoints = (*Memory)(nil)

// PutEndpoint implements ledger.Endpoints.
func (m *Memory) PutEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	return m.within(ctx, ref, func(r *record) error {
		if err := e.Check(); err != nil {
			return err
		}
		known, exists := r.endpoints[e.ID]
		switch {
		case exists:
			e.CreatedAt, e.Delivery = known.CreatedAt, known.Delivery
			r.endpoints[e.ID] = copyEndpoint(e)
		case len(r.endpoints) >= ledger.MaxEndpoints:
			return ledger.ErrTooManyEndpoints
		default:
			r.newEndpoint(e)
		}
		return nil
	})
}

// newEndpoint keeps an endpoint that nobody has delivered to.
func (r *record) newEndpoint(e ledger.Endpoint) {
	e.Delivery.Revision = 0
	r.endpoints[e.ID] = copyEndpoint(e)
}

// Endpoint implements ledger.Endpoints.
func (m *Memory) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (e ledger.Endpoint, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		known, exists := r.endpoints[id]
		if !exists {
			return ledger.ErrNotFound
		}
		e = copyEndpoint(known)
		return nil
	})
	return e, err
}

// EndpointList implements ledger.Endpoints.
func (m *Memory) EndpointList(ctx context.Context, ref lifecycle.Ref) (out []ledger.Endpoint, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.SortedFunc(maps.Values(r.endpoints), func(a, b ledger.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
		for i := range out {
			out[i] = copyEndpoint(out[i])
		}
		return nil
	})
	return out, err
}

// DeleteEndpoint implements ledger.Endpoints.
func (m *Memory) DeleteEndpoint(ctx context.Context, ref lifecycle.Ref, id string) error {
	return m.inside(ctx, ref, func(r *record) error {
		delete(r.endpoints, id)
		return nil
	})
}

// Want implements ledger.Endpoints.
func (m *Memory) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	return m.within(ctx, ref, func(r *record) error {
		e, exists := r.endpoints[id]
		switch {
		case !exists:
			return ledger.ErrNotFound
		case seq <= e.Delivery.Wanted:
			return nil
		case e.Delivery.Idle():
			e.Delivery.DueAt = now
		}
		e.Delivery.Wanted = seq
		r.endpoints[id] = e
		return nil
	})
}

// Deliver implements ledger.Endpoints.
func (m *Memory) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	return m.within(ctx, ref, func(r *record) error {
		if err := d.Check(); err != nil {
			return err
		}
		e, exists := r.endpoints[id]
		switch {
		case !exists:
			return ledger.ErrNotFound
		case d.Incarnation != e.Delivery.Incarnation, d.Revision != e.Delivery.Revision+1, d.Idle() && e.Delivery.Wanted > d.Cursor:
			return ledger.ErrDeliveryChanged
		}
		d.Wanted = e.Delivery.Wanted
		e.Delivery = d
		r.endpoints[id] = copyEndpoint(e)
		return nil
	})
}

// DueDeliveries implements ledger.Endpoints.
func (m *Memory) DueDeliveries(ctx context.Context, before time.Time, after *ledger.DeliveryCursor, limit int) (ledger.DeliveryPage, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return ledger.DeliveryPage{}, err
	}
	defer leave()
	var due []ledger.DeliveryCursor
	for ref, r := range m.tasks {
		for id, e := range r.endpoints {
			at := ledger.DeliveryCursor{DueAt: e.Delivery.DueAt, Ref: ref, ID: id}
			if !at.DueAt.IsZero() && !at.DueAt.After(before) && (after == nil || soonestFirst(*after, at) < 0) {
				due = append(due, at)
			}
		}
	}
	slices.SortFunc(due, soonestFirst)
	var page ledger.DeliveryPage
	if limit > 0 && len(due) > limit {
		due = due[:limit]
		page.Next = &due[limit-1]
	}
	for _, at := range due {
		page.Due = append(page.Due, ledger.DueDelivery{Ref: at.Ref, ID: at.ID})
	}
	return page, nil
}

// soonestFirst is the order of what is due. The port leaves open how endpoints that
// are due at one instant follow each other; here by name.
func soonestFirst(a, b ledger.DeliveryCursor) int {
	return cmp.Or(earliestFirst(a.DueAt, b.DueAt, a.Ref, b.Ref), cmp.Compare(a.ID, b.ID))
}

func copyEndpoint(e ledger.Endpoint) ledger.Endpoint {
	e.Secrets, e.Delivery.Attempts = slices.Clone(e.Secrets), slices.Clone(e.Delivery.Attempts)
	return e
}
