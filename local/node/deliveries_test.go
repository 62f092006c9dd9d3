package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// receivers answer in the process: whoever comes gets the answer of its host.
type receivers struct {
	mu     sync.Mutex
	answer map[string]func(r *http.Request) int // by host; none takes everything
	bodies map[string][]string                  // of what was taken, by host
}

// RoundTrip implements http.RoundTripper.
func (v *receivers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if answer := v.answer[r.URL.Host]; answer != nil {
		code = answer(r)
	}
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if code == http.StatusOK {
		v.bodies[r.URL.Host] = append(v.bodies[r.URL.Host], string(body))
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}, nil
}

// taken counts what a host has taken, and says whether the task's end was among it.
func (v *receivers) taken(host string) (n int, ended bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range v.bodies[host] {
		ended = ended || strings.Contains(b, string(a2a.TaskStateCompleted))
	}
	return len(v.bodies[host]), ended
}

// hooked starts a node over a ledger whose webhooks lead to receivers in the process.
func hooked(t *testing.T, l ledger.Ledger, v *receivers, agents ...*agent.Agent) *Node {
	t.Helper()
	shipped, err := catalog.New(agents...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(Config{
		Ledger: l, Blobs: ledgertest.NewMemoryBlobs(), Catalog: shipped, HoldersGone: true, Timing: DefaultTiming(),
		Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	v.bodies = map[string][]string{}
	n.deliveries.sender.Client.Transport = v
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	return n
}

// call makes a request at the door and returns the answer.
func call(t *testing.T, n *Node, method, path, body string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/a2a+json")
	w := httptest.NewRecorder()
	n.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w.Body.String()
}

// submitTo sends a message with a webhook.
func submitTo(t *testing.T, n *Node, id, host string) string {
	t.Helper()
	answer := call(t, n, http.MethodPost, "/message:send", fmt.Sprintf(
		`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"id":"hook","url":"https://%s/"}}}`, id, host))
	_, task, _ := strings.Cut(answer, `"id":"`)
	task, _, _ = strings.Cut(task, `"`)
	return task
}

func halt(t *testing.T, n *Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// drowsy takes its time after it has stored that a delivery rests.
type drowsy struct{ ledger.Ledger }

// Deliver implements ledger.Endpoints.
func (l drowsy) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	err := l.Ledger.Deliver(ctx, ref, id, d)
	if err == nil && d.Idle() {
		<-time.NewTimer(3500 * time.Millisecond).C
	}
	return err
}

// An update that is committed after a sender has rested, and before it is known to have,
// is delivered by it, and not by a sweep minutes later.
func TestMoreAfterRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &receivers{}
		n := hooked(t, drowsy{ledgertest.NewMemory()}, v, steady(2))
		defer halt(t, n)
		submitTo(t, n, "m-1", "a.example")
		<-time.NewTimer(15 * time.Second).C
		if got, ended := v.taken("a.example"); !ended {
			t.Errorf("10 s after its task has ended, the receiver has %d updates and not the last", got)
		}
	})
}

// An endpoint that waits for its next attempt is tried at once when it is configured
// anew, by whoever waits for it.
func TestConfiguredAnewWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &receivers{answer: map[string]func(*http.Request) int{"gone.example": func(*http.Request) int { return http.StatusGone }, "down.example": func(*http.Request) int { return http.StatusInternalServerError }}}
		n := hooked(t, ledgertest.NewMemory(), v, quick())
		defer halt(t, n)
		for _, host := range []string{"gone.example", "down.example"} {
			task := submitTo(t, n, host, host)
			<-time.NewTimer(30 * time.Minute).C // after which an attempt is an hour away
			call(t, n, http.MethodPost, "/tasks/"+task+"/pushNotificationConfigs", `{"id":"hook","url":"https://new-`+host+`/"}`)
			if host == "down.example" { // an operator's replay does the same for an endpoint that is tried still
				at := ledger.DueDelivery{Ref: lifecycle.Ref{Tenant: Tenant, Task: a2a.TaskID(task)}, ID: "hook"}
				if err := n.push.Replay(t.Context(), at.Ref, at.ID, ledger.FromCursor); err != nil {
					t.Fatal(err)
				}
			}
			<-time.NewTimer(30 * time.Second).C // a sweep, or a few
			if got, ended := v.taken("new-" + host); !ended {
				t.Errorf("%s: the receiver that was configured anew has %d updates", host, got)
			}
		}
	})
}

// A receiver that hangs, with hundreds of tasks, keeps another one waiting for nothing;
// nor does one that is away.
func TestSlowReceiversKeepNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &receivers{answer: map[string]func(*http.Request) int{
			"slow.example": func(r *http.Request) int { <-r.Context().Done(); return 0 },
			"away.example": func(*http.Request) int { return http.StatusBadGateway },
		}}
		n := hooked(t, ledgertest.NewMemory(), v, quick())
		defer halt(t, n)
		for i := range 200 {
			submitTo(t, n, fmt.Sprint("slow-", i), "slow.example")
			submitTo(t, n, fmt.Sprint("away-", i), "away.example")
		}
		submitTo(t, n, "m-1", "well.example")
		synctest.Wait() // and no time passes
		if got, ended := v.taken("well.example"); !ended {
			t.Errorf("the receiver that is well has %d updates", got)
		}
	})
}

var errBroken = errors.New("broken")

// broken fails to read an endpoint once.
type broken struct {
	ledger.Ledger

	once *sync.Once
}

// Endpoint implements ledger.Endpoints.
func (l broken) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (e ledger.Endpoint, err error) {
	l.once.Do(func() { err = errBroken })
	if err != nil {
		return e, err
	}
	return l.Ledger.Endpoint(ctx, ref, id)
}

// A delivery that was broken off by the ledger is not thought to be at work for ever.
func TestBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &receivers{}
		n := hooked(t, broken{ledgertest.NewMemory(), &sync.Once{}}, v, quick())
		defer halt(t, n)
		submitTo(t, n, "m-1", "a.example")
		<-time.NewTimer(10 * time.Minute).C
		n.deliveries.mu.Lock()
		busy := len(n.deliveries.busy)
		n.deliveries.mu.Unlock()
		if got, ended := v.taken("a.example"); !ended || busy != 0 {
			t.Errorf("the receiver has %d updates, %d are thought to be at work", got, busy)
		}
	})
}
