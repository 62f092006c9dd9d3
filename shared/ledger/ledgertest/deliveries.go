package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var deliveryTests = []test{
	{"wanting more makes an idle endpoint due at once", deliveryWantIdle},
	{"wanting more leaves everything else of the others alone", deliveryWantBusy},
	{"what is wanted never sinks", deliveryWantLess},
	{"a delivery is guarded by the revision", deliveryRevision},
	{"a delivery is for the endpoint as it was made, not for one that has its ID", deliveryIncarnation},
	{"nobody goes idle while more is wanted (I11)", deliveryIdle},
	{"what is due comes earliest first, of all tenants", deliveryOrder},
	{"pages join, also among endpoints that are due at one instant", deliveryPages},
	{"an endpoint is due as its delivery says", deliveryMoves},
}

// sending is a delivery somebody is at work on.
func sending(at time.Time) ledger.Delivery {
	return ledger.Delivery{Cursor: 1, Revision: 1, Holder: "sender", LeaseUntil: at.Add(lease), DueAt: at.Add(lease + grace)}
}

// deliveryWantIdle: the first sequence wakes it; the next ones find it awake.
func deliveryWantIdle(b *bench) {
	t := b.submitted()
	e := b.put(t.Ref(), b.endpoint("one"))
	sleeping := e
	sleeping.ID, sleeping.Delivery.DueAt = "for ever", time.Time{}
	b.put(t.Ref(), sleeping)
	for _, e := range []ledger.Endpoint{e, sleeping} {
		for seq := uint64(2); seq < 12; seq += 3 {
			now := e.CreatedAt.Add(time.Duration(seq) * time.Second)
			b.ok(b.ledger.Want(b.ctx, t.Ref(), e.ID, seq, now))
			e.Delivery.Wanted, e.Delivery.DueAt = seq, now
			b.is("the endpoint", b.endpointOf(t.Ref(), e.ID), e)
		}
	}
}

func deliveryWantBusy(b *bench) {
	t := b.submitted()
	at := lifecycle.Millis(b.clock.Now())
	for name, d := range map[string]ledger.Delivery{
		"held": sending(at), "held, never due": {Cursor: 1, Revision: 1, Holder: "sender"},
		"to be tried again": {Cursor: 1, Revision: 1, Attempt: 1, NextAt: at.Add(time.Minute), DueAt: at.Add(time.Minute)},
		"given up":          {Cursor: 0, Revision: 1, State: ledger.DeliveryGivenUp, Attempts: []ledger.Attempt{{At: at, Seq: 1, Number: 9}}},
		"given up, due":     {Cursor: 0, Revision: 1, State: ledger.DeliveryGivenUp, DueAt: at.Add(time.Hour)},
		"disabled":          {Cursor: 1, Revision: 1, State: ledger.DeliveryDisabled},
	} {
		e := b.put(t.Ref(), b.endpoint(name))
		b.ok(b.ledger.Deliver(b.ctx, t.Ref(), name, d))
		for seq := uint64(2); seq < 4; seq++ {
			b.ok(b.ledger.Want(b.ctx, t.Ref(), name, seq, at.Add(-time.Second)))
			e.Delivery = d
			e.Delivery.Wanted = seq
			b.is("the endpoint that is "+name, b.endpointOf(t.Ref(), name), e)
		}
		d.Revision = 2
		b.ok(b.ledger.Deliver(b.ctx, t.Ref(), name, d))
	}
}

func deliveryWantLess(b *bench) {
	t := b.submitted()
	idle, busy := b.endpoint("idle"), b.endpoint("busy")
	for _, e := range []*ledger.Endpoint{&idle, &busy} {
		e.Delivery.Cursor, e.Delivery.Wanted = 10, 10
		b.put(t.Ref(), *e)
	}
	busy.Delivery = sending(busy.CreatedAt)
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "busy", busy.Delivery))
	busy.Delivery.Wanted = 10
	for _, seq := range []uint64{0, 1, 9, 10} {
		for _, e := range []ledger.Endpoint{idle, busy} {
			b.ok(b.ledger.Want(b.ctx, t.Ref(), e.ID, seq, e.CreatedAt))
			b.is("the endpoint that is "+e.ID, b.endpointOf(t.Ref(), e.ID), e)
		}
	}
}

func deliveryRevision(b *bench) {
	t := b.submitted()
	e := b.put(t.Ref(), b.endpoint("one"))
	for next := uint64(1); next < 4; next++ {
		for _, revision := range []uint64{0, next - 1, next + 1, 1 << 40} {
			d := sending(e.CreatedAt)
			d.Revision = revision
			b.want(fmt.Sprintf("revision %d", revision), b.ledger.Deliver(b.ctx, t.Ref(), "one", d), ledger.ErrDeliveryChanged)
			b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
		}
		d := sending(e.CreatedAt)
		d.Revision, d.Wanted = next, 100 // what the writer says of it does not count
		b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", d))
		d.Wanted = e.Delivery.Wanted
		e.Delivery = d
		b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
	}
	b.want("a delivery to nobody", b.ledger.Deliver(b.ctx, t.Ref(), "two", sending(e.CreatedAt)), ledger.ErrNotFound)
	b.wantEndpoints("all", t.Ref(), e)
}

// deliveryIncarnation: a sender of an endpoint that was removed knows a revision that
// the one which was made in its place comes by as well.
func deliveryIncarnation(b *bench) {
	t := b.submitted()
	for _, made := range []string{"first", "", "second"} {
		e := b.endpoint("one")
		e.Delivery.Incarnation = made
		b.put(t.Ref(), e)
		b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
		for _, other := range []string{"first", "", "second", "third"} {
			if other == made {
				continue
			}
			d := sending(e.CreatedAt)
			d.Incarnation = other
			b.want("a delivery to the one made as "+other, b.ledger.Deliver(b.ctx, t.Ref(), "one", d), ledger.ErrDeliveryChanged)
			b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
		}
		again := b.endpoint("one") // another configuration is no other endpoint
		again.Delivery.Incarnation = "third"
		b.put(t.Ref(), again)
		d := sending(e.CreatedAt)
		d.Incarnation, d.Generation = made, 7
		b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", d))
		d.Wanted = e.Delivery.Wanted
		e.Delivery = d
		b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
		b.ok(b.ledger.DeleteEndpoint(b.ctx, t.Ref(), "one"))
	}
	c := b.creation(b.newRef(), nil, "op-1")
	inline := b.endpoint("one")
	inline.Delivery.Incarnation = "inline"
	c.Endpoints = []ledger.Endpoint{inline}
	b.ok(b.ledger.Create(b.ctx, c))
	b.is("one that came with the submission", b.endpointOf(c.Head.Ref(), "one"), inline)
}

func deliveryIdle(b *bench) {
	t := b.submitted()
	e := b.put(t.Ref(), b.endpoint("one"))
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", 5, e.CreatedAt))
	e.Delivery.Wanted, e.Delivery.DueAt = 5, e.CreatedAt
	for _, cursor := range []uint64{0, 1, 4} {
		d := ledger.Delivery{Cursor: cursor, Wanted: cursor, Revision: 1}
		b.want(fmt.Sprintf("going idle at %d", cursor), b.ledger.Deliver(b.ctx, t.Ref(), "one", d), ledger.ErrDeliveryChanged)
		b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
	}
	// Who is at work, waits for another try or has given up may lack something.
	at := e.CreatedAt.Add(time.Minute)
	for i, d := range []ledger.Delivery{sending(at), {Cursor: 4, NextAt: at, DueAt: at}, {State: ledger.DeliveryGivenUp}, {State: ledger.DeliveryDisabled}, {Cursor: 5}, {Cursor: 6}} {
		d.Revision = uint64(i) + 1
		b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", d))
		d.Wanted = 5
		e.Delivery = d
		b.is("the endpoint", b.endpointOf(t.Ref(), "one"), e)
	}
}

// dueFrom is an endpoint's place among those that are due.
func dueFrom(ref lifecycle.Ref, e ledger.Endpoint) ledger.DeliveryCursor {
	return ledger.DeliveryCursor{DueAt: e.Delivery.DueAt, Ref: ref, ID: e.ID}
}

// deliveryCrowd puts endpoints of two tenants that are due at three instants.
func (b *bench) deliveryCrowd() []ledger.DeliveryCursor {
	b.Helper()
	all := make([]ledger.DeliveryCursor, 0, 24)
	other := &bench{T: b.T, desk: newDesk(b.ledger), ctx: b.ctx}
	for _, tenant := range []*bench{b, other} {
		for range 2 {
			t := tenant.submitted()
			for i, wait := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, 3 * time.Second, time.Second, 2 * time.Second} {
				e := b.endpoint(fmt.Sprintf("endpoint/%d", i))
				e.Delivery.DueAt = e.CreatedAt.Add(wait)
				all = append(all, dueFrom(t.Ref(), b.put(t.Ref(), e)))
			}
			never := b.endpoint("never")
			never.Delivery.DueAt = time.Time{}
			b.put(t.Ref(), never)
		}
	}
	return all
}

// dueDeliveries reads all pages, and keeps what belongs to the tenants of the
// wanted ones: the ledger may hold others.
func (b *bench) dueDeliveries(want []ledger.DeliveryCursor, before time.Time, limit int) ([]ledger.DueDelivery, error) {
	var got []ledger.DueDelivery
	var after *ledger.DeliveryCursor
	for {
		page, err := b.ledger.DueDeliveries(b.ctx, before, after, limit)
		if err != nil {
			return nil, err
		}
		if limit > 0 && len(page.Due) > limit {
			return nil, fmt.Errorf("a page of %d endpoints, the limit is %d", len(page.Due), limit)
		}
		for _, d := range page.Due {
			if d.Ref.Tenant == b.tenant || slices.ContainsFunc(want, func(w ledger.DeliveryCursor) bool { return w.Ref.Tenant == d.Ref.Tenant }) {
				got = append(got, d)
			}
		}
		if page.Next == nil {
			return got, nil
		}
		if after != nil && *after == *page.Next {
			return nil, errors.New("a cursor that stands still")
		}
		after = page.Next
	}
}

// wantDeliveries waits until exactly these endpoints are due. Those of one
// instant may come in any order.
func (b *bench) wantDeliveries(what string, before time.Time, limit int, want ...ledger.DeliveryCursor) {
	b.Helper()
	want = slices.SortedFunc(slices.Values(want), soonestFirst)
	instants := map[ledger.DueDelivery]time.Time{}
	for _, w := range want {
		instants[ledger.DueDelivery{Ref: w.Ref, ID: w.ID}] = w.DueAt
	}
	b.ok(eventually(b.ctx, func() error {
		due, err := b.dueDeliveries(want, before, limit)
		if err != nil {
			return err
		}
		got := make([]ledger.DeliveryCursor, 0, len(due))
		for _, d := range due {
			got = append(got, ledger.DeliveryCursor{DueAt: instants[d], Ref: d.Ref, ID: d.ID})
		}
		if !slices.IsSortedFunc(got, func(x, y ledger.DeliveryCursor) int { return x.DueAt.Compare(y.DueAt) }) {
			return fmt.Errorf("%s: not the earliest first", what)
		}
		slices.SortFunc(got, soonestFirst)
		if len(got)+len(want) == 0 {
			return nil
		}
		return same(what, got, want)
	}))
}

func deliveryOrder(b *bench) {
	all := b.deliveryCrowd()
	b.wantDeliveries("all endpoints", b.clock.Now().Add(time.Minute), 0, all...)
	at := lifecycle.Millis(b.clock.Now())
	b.wantDeliveries("before the first", at.Add(time.Second-1), 100)
	b.wantDeliveries("at the first", at.Add(time.Second), 100, slices.DeleteFunc(slices.Clone(all), func(c ledger.DeliveryCursor) bool { return c.DueAt.After(at.Add(time.Second)) })...)
}

func deliveryPages(b *bench) {
	all := b.deliveryCrowd()
	for _, limit := range []int{1, 5, 7, 23, 24, 25} {
		b.wantDeliveries(fmt.Sprintf("pages of %d", limit), b.clock.Now().Add(time.Minute), limit, all...)
	}
}

func deliveryMoves(b *bench) {
	t := b.submitted()
	later := b.clock.Now().Add(365 * 24 * time.Hour)
	e := b.put(t.Ref(), b.endpoint("one"))
	b.wantDeliveries("a new one", later, 10, dueFrom(t.Ref(), e))
	b.wantDeliveries("a new one, just before", e.Delivery.DueAt.Add(-time.Millisecond), 10)
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", 2, e.CreatedAt))
	e.Delivery.DueAt = e.CreatedAt
	b.wantDeliveries("once more is wanted", e.CreatedAt, 10, dueFrom(t.Ref(), e))
	e.Delivery = sending(e.CreatedAt)
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", e.Delivery))
	b.wantDeliveries("while somebody is at work", e.Delivery.DueAt.Add(-time.Millisecond), 10)
	b.wantDeliveries("when the lease and its grace are over", e.Delivery.DueAt, 10, dueFrom(t.Ref(), e))
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", 3, e.CreatedAt))
	b.put(t.Ref(), b.endpoint("one"))
	b.wantDeliveries("whatever is wanted and configured", later, 10, dueFrom(t.Ref(), e))
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", ledger.Delivery{Cursor: 3, Revision: 2}))
	b.wantDeliveries("when everything is delivered", later, 10)
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", 4, e.CreatedAt))
	e.Delivery.DueAt = e.CreatedAt
	b.wantDeliveries("when more is wanted after all", later, 10, dueFrom(t.Ref(), e))
	b.ok(b.ledger.DeleteEndpoint(b.ctx, t.Ref(), "one"))
	b.wantDeliveries("once it is removed", later, 10)

	c := b.creation(b.newRef(), nil, "op-1")
	c.Endpoints = []ledger.Endpoint{b.endpoint("one"), b.endpoint("two")}
	b.ok(b.ledger.Create(b.ctx, c))
	b.wantDeliveries("what came with the submission", later, 10, dueFrom(c.Head.Ref(), c.Endpoints[0]), dueFrom(c.Head.Ref(), c.Endpoints[1]))
}
