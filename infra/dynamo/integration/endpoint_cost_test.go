package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestCostOfEndpoints counts what a webhook adds to a task: when it is configured, for
// each update that goes out by itself, and for one that is tried again.
func TestCostOfEndpoints(t *testing.T) {
	s := newStory(t)
	at := func() time.Time { return lifecycle.Millis(s.clock.Now()) }
	endpoint := ledger.Endpoint{
		ID: a2a.NewMessageID(), URL: "https://example.com/webhooks/holdfast", Scheme: "Bearer", Secrets: []byte(strings.Repeat("s", 120)), Agent: "accessreview",
		Base: "https://agents.example.com", Principal: strings.Repeat("f", 64), CreatedAt: at(), Delivery: ledger.Delivery{Cursor: 1, Wanted: 1, DueAt: at().Add(time.Hour)},
	}
	ofEndpoint := func(name string, most float64, do func(ctx context.Context, ref lifecycle.Ref) error) {
		t.Helper()
		s.act(name, most, func() (ledger.Result, error) { return ledger.Result{Task: s.task}, do(t.Context(), s.task.Ref()) })
	}
	l, d := s.auth.Ledger, endpoint.Delivery
	want := func(ctx context.Context, ref lifecycle.Ref) error {
		d.Wanted++
		return l.Want(ctx, ref, endpoint.ID, d.Wanted, at())
	}
	deliver := func(change func(d *ledger.Delivery)) func(ctx context.Context, ref lifecycle.Ref) error {
		return func(ctx context.Context, ref lifecycle.Ref) error {
			change(&d)
			d.Revision++
			return l.Deliver(ctx, ref, endpoint.ID, d)
		}
	}
	take := deliver(func(d *ledger.Delivery) {
		d.Holder, d.LeaseUntil, d.NextAt, d.DueAt = "sender", at().Add(lease), time.Time{}, at().Add(lease+grace)
	})
	attempted := func(d *ledger.Delivery, status int) {
		*d = d.Attempted(ledger.Attempt{At: at(), Seq: d.Cursor + 1, Number: d.Attempt + 1, Status: status, Millis: 80})
		d.Holder, d.LeaseUntil = "", time.Time{}
	}
	sent := deliver(func(d *ledger.Delivery) {
		attempted(d, 200)
		d.Cursor, d.DueAt = d.Wanted, at().Add(time.Hour)
	})

	s.act("create", 9, s.submit)
	ofEndpoint("configure", 5, func(ctx context.Context, ref lifecycle.Ref) error { return l.PutEndpoint(ctx, ref, endpoint) })
	ofEndpoint("configure again", 1, func(ctx context.Context, ref lifecycle.Ref) error { return l.PutEndpoint(ctx, ref, endpoint) })
	ofEndpoint("more is wanted", 3, want)
	ofEndpoint("a sender takes it", 3, take)
	ofEndpoint("more is wanted then", 1, want)
	ofEndpoint("the endpoint took it", 3, sent)
	ofEndpoint("more is wanted", 3, want)
	ofEndpoint("a sender takes it", 3, take)
	ofEndpoint("the endpoint did not", 3, deliver(func(d *ledger.Delivery) {
		attempted(d, 503)
		d.Attempt, d.Failures, d.NextAt, d.DueAt = 1, 1, at().Add(time.Minute), at().Add(time.Minute+grace)
	}))
	ofEndpoint("what is due", 0, func(ctx context.Context, _ lifecycle.Ref) error {
		_, err := l.DueDeliveries(ctx, at(), nil, 100)
		return err
	})
	ofEndpoint("remove", 2, func(ctx context.Context, ref lifecycle.Ref) error { return l.DeleteEndpoint(ctx, ref, endpoint.ID) })
	ofEndpoint("remove again", 1, func(ctx context.Context, ref lifecycle.Ref) error { return l.DeleteEndpoint(ctx, ref, endpoint.ID) })
}
