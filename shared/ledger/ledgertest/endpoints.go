package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var endpointTests = []test{
	{"an endpoint is read back as it was written, and is no part of the task (I11)", endpointReadBack},
	{"what callers do with their values changes nothing that is kept", endpointApart},
	{"another configuration leaves delivery and creation alone", endpointReplaced},
	{"endpoints are listed by ID", endpointList},
	{"an unknown task takes none and has none", endpointUnknown},
	{"a removed endpoint is gone, again and again, and begins anew", endpointRemoved},
	{"an ended task goes on having endpoints (I2, I11)", endpointEnded},
	{"endpoints come with the submission", endpointCreated},
	{"a submission that is refused leaves no endpoint (I5)", endpointRefused},
	{"a task has at most so many endpoints", endpointMost},
	{"what is too large or has no name is refused for good", endpointBounds},
}

// endpoint is an endpoint with something in every field.
func (d *desk) endpoint(id string) ledger.Endpoint {
	at := lifecycle.Millis(d.clock.Now())
	return ledger.Endpoint{
		ID: id, URL: "https://example.com/é?id=" + id, Scheme: "Bearer", Secrets: []byte("\x00\x01\xff\xfe\""), Agent: agentName, Base: "https://door.example.com",
		Principal: "principal", CreatedAt: at, Delivery: ledger.Delivery{Cursor: 1, Wanted: 1, DueAt: at.Add(time.Hour)},
	}
}

// put writes an endpoint that must be taken.
func (b *bench) put(ref lifecycle.Ref, e ledger.Endpoint) ledger.Endpoint {
	b.Helper()
	b.ok(b.ledger.PutEndpoint(b.ctx, ref, e))
	return e
}

func (b *bench) endpointOf(ref lifecycle.Ref, id string) ledger.Endpoint {
	b.Helper()
	e, err := b.ledger.Endpoint(b.ctx, ref, id)
	b.ok(err)
	return e
}

func (b *bench) endpointsOf(ref lifecycle.Ref) []ledger.Endpoint {
	b.Helper()
	all, err := b.ledger.EndpointList(b.ctx, ref)
	b.ok(err)
	return all
}

// wantEndpoints stops the test unless a task has these endpoints, in this order.
func (b *bench) wantEndpoints(what string, ref lifecycle.Ref, want ...ledger.Endpoint) {
	b.Helper()
	if got := b.endpointsOf(ref); len(got)+len(want) > 0 {
		b.is(what, got, want)
	}
}

func endpointReadBack(b *bench) {
	t := b.working("holder")
	_, err := b.ledger.Endpoint(b.ctx, t.Ref(), "one")
	b.want("an endpoint that was never put", err, ledger.ErrNotFound)
	head, entries := b.head(t.Ref()), b.entries(t.Ref())
	plain := ledger.Endpoint{ID: "plain", URL: "http://localhost"}
	full := b.endpoint("one")
	b.put(t.Ref(), full)
	b.put(t.Ref(), plain)
	b.is("the endpoint", b.endpointOf(t.Ref(), "one"), full)
	b.is("one with nothing but a URL", b.endpointOf(t.Ref(), "plain"), plain)
	d := ledger.Delivery{
		Cursor: 7, Wanted: 1, State: ledger.DeliveryActive, Revision: 1, Holder: "sender", LeaseUntil: full.CreatedAt.Add(lease), Attempt: 3,
		NextAt: full.CreatedAt.Add(time.Minute), Failures: 4, Delivered: 5, Generation: 6, DueAt: full.CreatedAt.Add(time.Second),
		Attempts: []ledger.Attempt{{At: full.CreatedAt, Seq: 7, Number: 3, Status: 503, Millis: 12, Error: "status"}, {At: full.CreatedAt.Add(1), Seq: 8, Number: 1}},
	}
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", d))
	full.Delivery = d
	b.is("the endpoint after a delivery", b.endpointOf(t.Ref(), "one"), full)
	b.wantEndpoints("all", t.Ref(), full, plain)
	b.is("the head", b.head(t.Ref()), head)
	b.is("the entries", b.entries(t.Ref()), entries)
}

func endpointApart(b *bench) {
	t := b.submitted()
	want := b.endpoint("one")
	want.Delivery = sending(want.CreatedAt).Attempted(ledger.Attempt{Seq: 2})
	want.Delivery.Wanted = 1
	spoil := func(e ledger.Endpoint) {
		clear(e.Secrets)
		clear(e.Delivery.Attempts)
	}
	given := b.put(t.Ref(), b.endpoint("one"))
	d := want.Delivery
	d.Attempts = slices.Clone(d.Attempts)
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", d))
	given.Delivery.Attempts = d.Attempts
	spoil(given)
	spoil(b.endpointOf(t.Ref(), "one"))
	spoil(b.endpointsOf(t.Ref())[0])
	b.is("the endpoint", b.endpointOf(t.Ref(), "one"), want)
}

func endpointReplaced(b *bench) {
	t := b.submitted()
	first := b.put(t.Ref(), b.endpoint("one"))
	first.Delivery = ledger.Delivery{Cursor: 3, Wanted: 1, Revision: 1, Holder: "sender", LeaseUntil: first.CreatedAt.Add(lease), DueAt: first.CreatedAt.Add(lease)}
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", first.Delivery))
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", 5, first.CreatedAt))
	first.Delivery.Wanted = 5

	b.clock.Advance(time.Hour)
	second := b.put(t.Ref(), ledger.Endpoint{ID: "one", URL: "https://elsewhere.example.com", CreatedAt: lifecycle.Millis(b.clock.Now()), Delivery: ledger.Delivery{Cursor: 9, Revision: 9, DueAt: first.CreatedAt}})
	second.CreatedAt, second.Delivery = first.CreatedAt, first.Delivery
	b.is("the endpoint", b.endpointOf(t.Ref(), "one"), second)
	b.wantEndpoints("all", t.Ref(), second)
}

func endpointList(b *bench) {
	t, other := b.submitted(), b.submitted()
	b.wantEndpoints("none", t.Ref())
	ids := []string{"1", "10", "2", "A", "a", "a b", "a#b", "a/b", "aa", "é", "日本"}
	want := make([]ledger.Endpoint, 0, len(ids))
	for _, id := range ids {
		want = append(want, b.endpoint(id))
	}
	for i := range want {
		b.put(t.Ref(), want[len(want)-1-i])
	}
	b.put(other.Ref(), b.endpoint("b"))
	slices.SortFunc(want, func(x, y ledger.Endpoint) int { return strings.Compare(x.ID, y.ID) })
	b.wantEndpoints("all", t.Ref(), want...)
}

func endpointUnknown(b *bench) {
	ref := b.newRef()
	b.want("PutEndpoint", b.ledger.PutEndpoint(b.ctx, ref, b.endpoint("one")), ledger.ErrNotFound)
	b.want("Want", b.ledger.Want(b.ctx, ref, "one", 1, b.clock.Now()), ledger.ErrNotFound)
	b.want("Deliver", b.ledger.Deliver(b.ctx, ref, "one", ledger.Delivery{Revision: 1}), ledger.ErrNotFound)
	_, err := b.ledger.Endpoint(b.ctx, ref, "one")
	b.want("Endpoint", err, ledger.ErrNotFound)
	b.ok(b.ledger.DeleteEndpoint(b.ctx, ref, "one"))
	b.wantEndpoints("after all of that", ref)
}

func endpointRemoved(b *bench) {
	t := b.submitted()
	kept := b.put(t.Ref(), b.endpoint("kept"))
	gone := b.put(t.Ref(), b.endpoint("gone"))
	gone.Delivery.Revision = 1
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "gone", gone.Delivery))
	for range 2 {
		b.ok(b.ledger.DeleteEndpoint(b.ctx, t.Ref(), "gone"))
		b.wantEndpoints("what is left", t.Ref(), kept)
	}
	_, err := b.ledger.Endpoint(b.ctx, t.Ref(), "gone")
	b.want("the endpoint", err, ledger.ErrNotFound)
	gone.Delivery.Revision = 2
	b.want("a delivery to it", b.ledger.Deliver(b.ctx, t.Ref(), "gone", gone.Delivery), ledger.ErrNotFound)
	b.want("wanting something for it", b.ledger.Want(b.ctx, t.Ref(), "gone", 9, b.clock.Now()), ledger.ErrNotFound)
	b.wantEndpoints("what is left", t.Ref(), kept)

	b.put(t.Ref(), gone) // whatever revision its writer knows of
	gone.Delivery.Revision = 0
	b.is("the endpoint anew", b.endpointOf(t.Ref(), "gone"), gone)
}

func endpointEnded(b *bench) {
	t := b.working("holder")
	e := b.put(t.Ref(), b.endpoint("one"))
	t = b.reported(t, ending(lifecycle.VerbComplete))
	b.ok(b.ledger.Want(b.ctx, t.Ref(), "one", t.Seq, e.CreatedAt))
	e.Delivery = ledger.Delivery{Cursor: t.Seq, Wanted: t.Seq, Revision: 1, Delivered: 2}
	b.ok(b.ledger.Deliver(b.ctx, t.Ref(), "one", e.Delivery))
	b.put(t.Ref(), b.endpoint("two"))
	b.is("the head", b.head(t.Ref()), t.Head)
	b.wantEndpoints("all", t.Ref(), e, b.endpoint("two"))
}

func endpointCreated(b *bench) {
	c := b.creation(b.newRef(), b.newKey("k"), "op-1")
	for i := range ledger.MaxEndpoints {
		e := b.endpoint(fmt.Sprintf("endpoint-%02d", i))
		e.Secrets, e.Delivery.Revision = []byte(strings.Repeat("s", ledger.MaxSecretBytes)), 3
		c.Endpoints = append(c.Endpoints, e)
	}
	b.ok(b.ledger.Create(b.ctx, c))
	for i := range c.Endpoints {
		c.Endpoints[i].Delivery.Revision = 0
	}
	b.wantEndpoints("all", c.Head.Ref(), c.Endpoints...)
	d := c.Endpoints[0].Delivery
	d.Revision = 1
	b.ok(b.ledger.Deliver(b.ctx, c.Head.Ref(), c.Endpoints[0].ID, d))
	b.task(c.Head.Ref())
}

func endpointRefused(b *bench) {
	first := b.creation(b.newRef(), b.newKey("k"), "op-1")
	first.Endpoints = []ledger.Endpoint{b.endpoint("one")}
	b.ok(b.ledger.Create(b.ctx, first))
	second := b.creation(b.newRef(), b.newKey("k"), "op-2")
	second.Endpoints = []ledger.Endpoint{b.endpoint("two")}
	b.wantTaken(b.ledger.Create(b.ctx, second), first.Note)
	b.wantEndpoints("of the second task", second.Head.Ref())
	again := b.creation(first.Head.Ref(), nil, "op-3")
	again.Endpoints = []ledger.Endpoint{b.endpoint("three")}
	b.conflict("the same task", b.ledger.Create(b.ctx, again), first.Head.Ref())
	b.wantTaken(b.ledger.Create(b.ctx, first), first.Note)
	b.wantEndpoints("of the first task", first.Head.Ref(), first.Endpoints...)
}

func endpointMost(b *bench) {
	t := b.submitted()
	for i := range ledger.MaxEndpoints {
		b.put(t.Ref(), b.endpoint(fmt.Sprint(i)))
	}
	b.want("one more", b.ledger.PutEndpoint(b.ctx, t.Ref(), b.endpoint("more")), ledger.ErrTooManyEndpoints)
	b.is("the endpoints", len(b.endpointsOf(t.Ref())), ledger.MaxEndpoints)
	b.put(t.Ref(), b.endpoint("3")) // another configuration is no other endpoint
	b.ok(b.ledger.DeleteEndpoint(b.ctx, t.Ref(), "3"))
	b.put(t.Ref(), b.endpoint("more"))

	c := b.creation(b.newRef(), b.newKey("k"), "op-1")
	for i := range ledger.MaxEndpoints + 1 {
		c.Endpoints = append(c.Endpoints, b.endpoint(fmt.Sprint(i)))
	}
	b.want("a submission with more", b.ledger.Create(b.ctx, c), ledger.ErrTooManyEndpoints)
	_, err := b.ledger.Key(b.ctx, *c.Key)
	b.want("its key", err, ledger.ErrNotFound)
}

func endpointBounds(b *bench) {
	t := b.submitted()
	long := func(limit int) string { return strings.Repeat("x", limit+1) }
	largest := b.endpoint(long(lifecycle.MaxIDBytes - 1))
	largest.URL, largest.Secrets = long(ledger.MaxURLBytes-1), []byte(long(ledger.MaxSecretBytes-1))
	for range ledger.MaxAttemptsKept {
		largest.Delivery = largest.Delivery.Attempted(ledger.Attempt{Error: long(lifecycle.MaxReasonBytes - 1)})
	}
	b.put(t.Ref(), largest)
	b.is("the largest endpoint", b.endpointOf(t.Ref(), largest.ID), largest)
	for what, change := range map[string]func(*ledger.Endpoint){
		"no ID": func(e *ledger.Endpoint) { e.ID = "" }, "no URL": func(e *ledger.Endpoint) { e.URL = "" },
		"a long ID": func(e *ledger.Endpoint) { e.ID = long(lifecycle.MaxIDBytes) }, "a long URL": func(e *ledger.Endpoint) { e.URL = long(ledger.MaxURLBytes) },
		"long secrets":          func(e *ledger.Endpoint) { e.Secrets = []byte(long(ledger.MaxSecretBytes)) },
		"a long scheme":         func(e *ledger.Endpoint) { e.Scheme = long(lifecycle.MaxNameBytes) },
		"an ID that is no text": func(e *ledger.Endpoint) { e.ID = "\xff" }, "another state": func(e *ledger.Endpoint) { e.Delivery.State = "asleep" },
		"too many attempts":  func(e *ledger.Endpoint) { e.Delivery.Attempts = make([]ledger.Attempt, ledger.MaxAttemptsKept+1) },
		"a long incarnation": func(e *ledger.Endpoint) { e.Delivery.Incarnation = long(lifecycle.MaxIDBytes) },
		"a long error": func(e *ledger.Endpoint) {
			e.Delivery.Attempts = []ledger.Attempt{{Error: long(lifecycle.MaxReasonBytes)}}
		},
	} {
		e := b.endpoint("other")
		change(&e)
		b.tooLarge(what, b.ledger.PutEndpoint(b.ctx, t.Ref(), e))
		c := b.creation(b.newRef(), nil, "op-1")
		c.Endpoints = []ledger.Endpoint{b.endpoint("fine"), e}
		b.tooLarge("a submission with "+what, b.ledger.Create(b.ctx, c))
		_, err := b.ledger.Head(b.ctx, c.Head.Ref())
		b.want("its head", err, ledger.ErrNotFound)
		b.wantEndpoints("its endpoints", c.Head.Ref())
	}
	twins := b.creation(b.newRef(), nil, "op-1")
	twins.Endpoints = []ledger.Endpoint{b.endpoint("twin"), b.endpoint("twin")}
	b.tooLarge("two endpoints of one ID", b.ledger.Create(b.ctx, twins))
	tooMany := ledger.Delivery{Revision: 1, Attempts: make([]ledger.Attempt, ledger.MaxAttemptsKept+1)}
	b.tooLarge("a delivery with too many attempts", b.ledger.Deliver(b.ctx, t.Ref(), largest.ID, tooMany))
	b.wantEndpoints("all", t.Ref(), largest)
}
