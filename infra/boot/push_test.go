package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// hooked is a batch about tasks with a webhook each, and what delivers it. Receivers are
// in this process: those of hosts that begin with "hang" never answer.
type hooked struct {
	push.Config

	batch   *hints
	memory  *ledgertest.Memory
	mu      sync.Mutex
	began   map[string]time.Time // by host, when it was first called
	started []webhook.Execution
}

// RoundTrip implements http.RoundTripper.
func (h *hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	if _, again := h.began[r.URL.Host]; !again {
		h.began[r.URL.Host] = time.Now()
	}
	h.mu.Unlock()
	if strings.HasPrefix(r.URL.Host, "hang") {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// Start implements webhook.Executions.
func (h *hooked) Start(_ context.Context, _ string, x webhook.Execution) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = append(h.started, x)
	return nil
}

// newHooked makes a task for each host; the batch names them in this order.
func newHooked(t *testing.T, store keyring.Store, hosts ...string) *hooked {
	t.Helper()
	h := &hooked{memory: ledgertest.NewMemory(), batch: newHints(), began: map[string]time.Time{}}
	h.Config = push.Config{
		Ledger: h.memory, Ring: keyring.New(store), Client: &http.Client{Transport: h}, Now: time.Now, Dice: func() float64 { return 1 }, NewID: newID,
		Grace: lifecycle.DefaultGrace, Logger: slog.New(slog.DiscardHandler), Executions: h,
	}
	auth := &ledger.Authority{Ledger: h.memory, Now: time.Now, NewID: newID}
	for i, host := range hosts {
		ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
		_, err := auth.Create(t.Context(), ref, lifecycle.Submit{
			ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do")), Policy: lifecycle.DefaultPolicy(),
		}, lifecycle.Source{Producer: "client"}, nil)
		if err == nil {
			err = h.memory.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "hook", URL: "https://" + host + "/", Agent: "agent", Base: "https://agent.example"})
		}
		if err != nil {
			t.Fatal(err)
		}
		var r dynamo.Record
		r.Ref, r.Entry.Seq, r.SequenceNumber = ref, 1, string(rune('a'+i%26))
		h.batch.add(r)
	}
	return h
}

// One batch of a shard is a hundred records. However many of its endpoints hang, it is
// done when the budget is: those that answer were called at once, each of the others has
// an execution, and no record comes again.
func TestHangingEndpointsDoNotHoldUpTheShard(t *testing.T) {
	for _, hanging := range []int{1, 99} {
		synctest.Test(t, func(t *testing.T) {
			hosts := []string{"fine.example"}
			for i := range hanging {
				hosts = append(hosts, "hang"+strings.Repeat("x", i)+".example")
			}
			h := newHooked(t, &keyring.Memory{}, hosts...)
			began := time.Now()
			if again := h.batch.deliver(t.Context(), h.Config); len(again) > 0 {
				t.Errorf("to come again: %q", again)
			}
			if took := time.Since(began); took > firstBudget {
				t.Errorf("with %d that hang it took %s", hanging, took)
			}
			if at, called := h.began["fine.example"]; !called || !at.Equal(began) {
				t.Errorf("the one that answers was called after %s (%v)", at.Sub(began), called)
			}
			if len(h.started) != hanging {
				t.Errorf("%d executions for %d that hang", len(h.started), hanging)
			}
		})
	}
}

// away is a store of keys that cannot be reached.
type away struct{ keyring.Memory }

// Secret implements keyring.Store.
func (*away) Secret(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("the key service is away")
}

// Without keys nothing is sent, no record comes again for it, and executions wait.
func TestStreamWithoutKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHooked(t, &away{}, "fine.example", "other.example")
		logs := &bytes.Buffer{}
		h.Logger = slog.New(slog.NewJSONHandler(logs, nil))
		if again := h.batch.deliver(t.Context(), h.Config); len(again) > 0 {
			t.Errorf("to come again: %q", again)
		}
		if len(h.began) != 0 || len(h.started) != 2 || !strings.Contains(logs.String(), "the key service is away") {
			t.Errorf("called %v, started %+v, said %s", h.began, h.started, logs)
		}
	})
}

// The keys are away for a quarter of an hour, and the stream, the sweep and the delivery
// machine go on: the light is red by then, though no attempt was made, and it is green when
// the keys are back. The executions that the sweep has begun meanwhile are not at it all.
func TestKeysAwayIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := &away{}
		h := newHooked(t, keys, "fine.example")
		m := monitorOn(io.Discard)
		m.Findings, m.Now, h.Watch = h.memory, time.Now, m
		handler := &webhook.Handler{Sender: h.Sender, Endpoints: h.memory, Budget: deliverBudget, Logger: h.Logger}
		live := map[string]webhook.Execution{}
		turns := func() {
			for _, x := range h.started {
				if _, known := live[x.Name()]; !known {
					live[x.Name()] = x
				}
			}
			for name, x := range live {
				if x.Outcome.Word == webhook.Done {
					continue
				}
				payload, err := json.Marshal(struct {
					Op string `json:"op"`
					webhook.Execution
				}{"deliver", x})
				if err == nil {
					payload, err = handler.Handle(t.Context(), payload)
				}
				if err == nil {
					err = json.Unmarshal(payload, &x.Outcome)
				}
				if err != nil {
					t.Fatal(err)
				}
				live[name] = x
			}
		}
		planner := h.Planner()
		reporter := &health.Reporter{Ledger: h.memory, Now: time.Now, Late: health.DefaultLate, Window: health.DefaultWindow}
		light := func() health.Light {
			r, err := reporter.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return r.Lights[slices.IndexFunc(r.Lights, func(l health.Light) bool { return l.Invariant == health.Undelivered })]
		}
		h.batch.deliver(t.Context(), h.Config)
		for range 16 {
			turns()
			<-time.NewTimer(time.Minute).C
			light()
			if _, err := h.Sweeper(planner, planner.Hand).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if l := light(); l.Light != health.Red || l.Count != 1 {
			t.Errorf("with the keys away: %+v", l)
		}
		waiting := 0
		for _, x := range live {
			if x.Outcome.Word == webhook.Wait {
				waiting++
			}
		}
		if len(live) < 10 || waiting != 1 {
			t.Errorf("%d of %d executions wait", waiting, len(live))
		}
		h.Ring = keyring.New(&keys.Memory)
		handler.Sender = h.Sender
		turns()
		if l := light(); l.Light != health.Green {
			t.Errorf("with the keys: %+v", l)
		}
	})
}
