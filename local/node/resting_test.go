package node

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
)

// hookOf is a receiver that answers as it is told.
type hookOf struct {
	mu    sync.Mutex
	codes []int // answers to the first ones
	seqs  []string
}

// RoundTrip implements http.RoundTripper.
func (h *hookOf) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	code := http.StatusOK
	if len(h.codes) > 0 {
		code, h.codes = h.codes[0], h.codes[1:]
	}
	h.seqs = append(h.seqs, r.Header.Get("Holdfast-Sequence"))
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func (h *hookOf) seen() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.seqs, " ")
}

// resting lets something happen when a sender has written that it rests, before it hears
// that it has.
type resting struct {
	ledger.Ledger

	once   sync.Once
	rested func()
}

// Deliver implements ledger.Endpoints.
func (r *resting) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	err := r.Ledger.Deliver(ctx, ref, id, d)
	if err == nil && d.Idle() {
		r.once.Do(r.rested)
	}
	return err
}

// delivering is a task with an endpoint, and who delivers to it.
func (r *rig) delivering(ctx context.Context, l ledger.Ledger, h *hookOf) (*deliveries, ledger.DueDelivery) {
	r.t.Helper()
	ref := r.submit("agent")
	at := ledger.DueDelivery{Ref: ref, ID: "hook"}
	if err := r.memory.PutEndpoint(r.t.Context(), ref, ledger.Endpoint{ID: at.ID, URL: "https://hook.example/", Agent: "agent", Base: "https://agent.example", Delivery: ledger.Delivery{Incarnation: "one"}}); err != nil {
		r.t.Fatal(err)
	}
	d, err := newDeliveries(ctx, push.Config{
		Ledger: l, Ring: keyring.New(&keyring.Memory{}), Client: &http.Client{Transport: h}, Now: time.Now, Dice: func() float64 { return 1 }, NewID: a2a.NewMessageID,
		Grace: lifecycle.DefaultGrace, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	d.config.Executions = d
	d.expect(ref)
	return d, at
}

// What is committed in the instant in which a sender rests goes out at once: nobody waits
// for the sweep, which would come minutes later.
func TestCommitWhileASenderRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := newRig(t), &hookOf{}
		l := &resting{Ledger: r.memory}
		ctx, stop := context.WithCancel(t.Context())
		d, at := r.delivering(ctx, l, h)
		l.rested = func() {
			task, err := r.auth.Load(ctx, at.Ref)
			if err == nil {
				_, err = r.auth.Do(ctx, task, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "test"}, ledger.Extra{})
			}
			if err != nil {
				t.Error(err)
			}
			d.committed(r.head(at.Ref))
			synctest.Wait() // until it has found somebody at work
		}
		d.deliver(at)
		<-time.After(time.Second)
		synctest.Wait()
		if got := h.seen(); got != "1 3" { // the request to cancel is no update
			t.Errorf("delivered were %q", got)
		}
		stop()
		d.stop()
	})
}

// A replay does not wait for the rung on which the delivery stands.
func TestReplayWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := newRig(t), &hookOf{codes: []int{500, 500, 500, 500, 500}}
		ctx, stop := context.WithCancel(t.Context())
		d, at := r.delivering(ctx, r.memory, h)
		began := time.Now()
		d.deliver(at)
		<-time.After(30 * time.Minute) // the next attempt is an hour behind the fifth
		synctest.Wait()
		if got := h.seen(); got != "1 1 1 1 1" {
			t.Fatalf("attempts at %q", got)
		}
		if err := d.config.Replay(ctx, at.Ref, at.ID, ledger.FromCursor); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got := h.seen(); got != "1 1 1 1 1 1" || time.Since(began) > 31*time.Minute {
			t.Errorf("attempts at %q after %s", got, time.Since(began))
		}
		if e, err := r.memory.Endpoint(ctx, at.Ref, at.ID); err != nil || e.Delivery.Cursor != 1 || len(d.busy) != 0 {
			t.Errorf("%+v, %v; busy: %v", e.Delivery, err, d.busy)
		}
		stop()
		d.stop()
	})
}
