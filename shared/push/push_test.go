package push_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// joined is both sides over one ledger, and a task with one entry.
func joined(t *testing.T) (push.Config, lifecycle.Ref) {
	t.Helper()
	l := ledgertest.NewMemory()
	auth := &ledger.Authority{Ledger: l, Now: time.Now, NewID: a2a.NewMessageID}
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	_, err := auth.Create(t.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do")),
		RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return push.Config{
		Ledger: l, Ring: keyring.New(&keyring.Memory{}), Now: time.Now, Dice: func() float64 { return 0.5 }, NewID: a2a.NewMessageID,
		Guard: webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
		Grace: time.Second, Logger: slog.New(slog.DiscardHandler),
	}, ref
}

// What the door seals the sender opens, for that endpoint and that address; what it sends
// is signed with a key that the door publishes.
func TestTheSidesFit(t *testing.T) {
	c, ref := joined(t)
	got := make(chan http.Header, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Clone() }))
	defer receiver.Close()
	door := c.Door()
	if err := door.Check(t.Context(), receiver.URL); err != nil {
		t.Fatal(err)
	}
	sealed, err := door.Seal(t.Context(), ref, "hook", receiver.URL, "the token", "the credentials")
	if err != nil || strings.Contains(string(sealed), "the ") {
		t.Fatalf("sealed %q, %v", sealed, err)
	}
	e := ledger.Endpoint{ID: "hook", URL: receiver.URL, Scheme: "Bearer", Secrets: sealed, Agent: "agent", Base: "https://agent.example", CreatedAt: time.Now(), Delivery: ledger.Delivery{DueAt: time.Now()}}
	if err := c.Ledger.PutEndpoint(t.Context(), ref, e); err != nil {
		t.Fatal(err)
	}
	sender, err := c.Sender(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	due, later, err := sender.Hint(t.Context(), push.Change(ref, 1))
	if err != nil || len(due) != 1 || len(later) != 0 {
		t.Fatalf("%v and %v, %v", due, later, err)
	}
	if res, err := sender.Send(t.Context(), due[0], time.Minute); err != nil || res.Sent != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if h := <-got; h.Get("Authorization") != "Bearer the credentials" || h.Get("A2A-Notification-Token") != "the token" {
		t.Errorf("headers %v", h)
	}
	keys, err := door.Keys(t.Context())
	if err != nil || len(keys) != 1 || keys[0] != sender.Signer.Public()[0] {
		t.Errorf("published %v, %v", keys, err)
	}
	// Moved to another address, the secrets do not open, and nothing is sent there.
	e.ID, e.URL = "moved", receiver.URL+"/elsewhere"
	if err := c.Ledger.PutEndpoint(t.Context(), ref, e); err != nil {
		t.Fatal(err)
	}
	if res, err := sender.Send(t.Context(), ledger.DueDelivery{Ref: ref, ID: "moved"}, time.Minute); err != nil || res.Sent != 0 || !res.Failed || len(got) != 0 {
		t.Errorf("%+v, %v, %d requests", res, err, len(got))
	}
}

// An endpoint that was given up begins anew when it is configured again, where it was;
// one that is delivered to is left alone.
func TestConfiguredAgain(t *testing.T) {
	for state, want := range map[ledger.DeliveryState]uint64{ledger.DeliveryGivenUp: 2, ledger.DeliveryDisabled: 2, ledger.DeliveryActive: 1} {
		c, ref := joined(t)
		if err := c.Ledger.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "hook", URL: "https://a.example/", Agent: "agent", Base: "https://b.example", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := c.Ledger.Deliver(t.Context(), ref, "hook", ledger.Delivery{Revision: 1, State: state, Attempt: 9, Failures: 9}); err != nil {
			t.Fatal(err)
		}
		if err := c.Door().Renew(t.Context(), ref, "hook"); err != nil {
			t.Fatal(err)
		}
		e, err := c.Ledger.Endpoint(t.Context(), ref, "hook")
		d := e.Delivery
		if err != nil || d.State != ledger.DeliveryActive || d.Revision != want || want == 2 && (d.Attempt != 0 || d.Failures != 0 || d.DueAt.IsZero()) {
			t.Errorf("from %q: %+v, %v", state, d, err)
		}
	}
}

// A delivery that comes late finds its task expired, purged or not: the receiver is told
// nothing any more.
func TestExpiredTaskIsNotDelivered(t *testing.T) {
	c, ref := joined(t)
	auth := &ledger.Authority{Ledger: c.Ledger, Now: c.Now, NewID: c.NewID}
	task, err := auth.Load(t.Context(), ref)
	if err == nil {
		_, err = auth.Do(t.Context(), task, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
	}
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer receiver.Close()
	sealed, err := c.Door().Seal(t.Context(), ref, "hook", receiver.URL, "", "")
	if err == nil {
		err = c.Ledger.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "hook", URL: receiver.URL, Secrets: sealed, Agent: "agent", Base: "https://agent.example", CreatedAt: time.Now(), Delivery: ledger.Delivery{DueAt: time.Now()}})
	}
	if err != nil {
		t.Fatal(err)
	}
	at := ledger.DueDelivery{Ref: ref, ID: "hook"}
	send := func(after time.Duration) webhook.Result {
		t.Helper()
		c.Now = func() time.Time { return time.Now().Add(after) }
		sender, err := c.Sender(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		res, err := sender.Send(t.Context(), at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := send(0); !res.Failed || asked != 1 {
		t.Errorf("at first: %+v, %d requests", res, asked)
	}
	if res := send(lifecycle.DefaultRetention - time.Hour); !res.Failed || asked != 2 {
		t.Errorf("before the expiry: %+v, %d requests", res, asked)
	}
	if res := send(lifecycle.DefaultRetention); res.Failed || res.Word != webhook.Done || asked != 2 {
		t.Errorf("after the expiry: %+v, %d requests", res, asked)
	}
	e, err := c.Ledger.Endpoint(t.Context(), ref, "hook")
	if err != nil || !e.Delivery.DueAt.IsZero() || e.Delivery.Failures != 2 {
		t.Errorf("the delivery is %+v, %v", e.Delivery, err)
	}
}

// begun are executions that were told to begin.
type begun []webhook.Execution

// Start implements webhook.Executions.
func (b *begun) Start(_ context.Context, _ string, x webhook.Execution) error {
	*b = append(*b, x)
	return nil
}

// A replay begins behind a sequence that the task has come to, or where deliveries have got
// to, and tells who delivers. Beyond the last entry it would leave out what is to come.
func TestReplay(t *testing.T) {
	c, ref := joined(t)
	var told begun
	c.Executions = &told
	if err := c.Ledger.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "hook", URL: "https://a.example/", Agent: "agent", Base: "https://b.example", CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ledger.Deliver(t.Context(), ref, "hook", ledger.Delivery{Revision: 1, Cursor: 1, State: ledger.DeliveryGivenUp, Attempt: 10, Failures: 10}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		ref   lifecycle.Ref
		id    string
		since uint64
		want  error
	}{
		{ref, "hook", 2, push.ErrBeyond}, {ref, "hook", 1 << 40, push.ErrBeyond}, {ref, "none", 1, ledger.ErrNotFound}, {ref, "none", ledger.FromCursor, ledger.ErrNotFound},
		{lifecycle.Ref{Tenant: "other", Task: ref.Task}, "hook", 0, ledger.ErrNotFound}, {lifecycle.Ref{Tenant: "other", Task: ref.Task}, "hook", ledger.FromCursor, ledger.ErrNotFound},
	} {
		if err := c.Replay(t.Context(), k.ref, k.id, k.since); !errors.Is(err, k.want) || len(told) > 0 {
			t.Errorf("%s of %s since %d: %v, want %v; told %+v", k.id, k.ref, k.since, err, k.want, told)
		}
	}
	for i, k := range []struct{ since, cursor uint64 }{{ledger.FromCursor, 1}, {0, 0}, {1, 1}} {
		if err := c.Replay(t.Context(), ref, "hook", k.since); err != nil {
			t.Fatal(err)
		}
		e, err := c.Ledger.Endpoint(t.Context(), ref, "hook")
		d := e.Delivery
		if err != nil || d.State != ledger.DeliveryActive || d.Cursor != k.cursor || d.Attempt != 0 || d.Failures != 0 || d.NextAt.IsZero() || d.DueAt.IsZero() {
			t.Errorf("since %d: %+v, %v", k.since, d, err)
		}
		if len(told) != i+1 || told[i].Generation != d.Generation || told[i].Task != string(ref.Task) {
			t.Errorf("since %d told %+v", k.since, told)
		}
	}
	d := ledger.Delivery{Revision: 5, Generation: 3, Holder: "sender", LeaseUntil: time.Now().Add(time.Minute)}
	if err := c.Ledger.Deliver(t.Context(), ref, "hook", d); err != nil {
		t.Fatal(err)
	}
	if err := c.Replay(t.Context(), ref, "hook", 0); !errors.Is(err, ledger.ErrDeliveryChanged) || len(told) != 3 {
		t.Errorf("while a delivery is under way: %v", err)
	}
}
