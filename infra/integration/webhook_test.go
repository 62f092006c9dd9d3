package integration_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// hook is a receiver of webhooks. It refuses what comes while it is down.
type hook struct {
	url string

	refusal int // what it answers while it is down

	mu    sync.Mutex
	down  bool
	tries int
	ids   map[string]bool // of what was refused
	taken []delivered
}

type delivered struct {
	id, state, authorization string
	seq                      uint64
}

func newHook(t *testing.T, down bool) *hook {
	h := &hook{refusal: http.StatusServiceUnavailable, down: down, ids: map[string]bool{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var update struct {
		StatusUpdate struct{ Status struct{ State string } } `json:"statusUpdate"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &update)
	}
	seq, noSeq := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries++
	id := r.Header.Get("webhook-id")
	if h.down || err != nil || noSeq != nil {
		h.ids[id] = true
		w.WriteHeader(h.refusal)
		return
	}
	h.taken = append(h.taken, delivered{id, update.StatusUpdate.Status.State, r.Header.Get("Authorization"), seq})
}

func (h *hook) seen() (tries int, taken []delivered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tries, slices.Clone(h.taken)
}

// feedOften is the mapping of the stream, for as long as the test runs.
func (s *stack) feedOften() {
	f := newFeeder(s)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := f.feed(ctx); err != nil && ctx.Err() == nil {
				s.Errorf("the stream: %v", err)
			}
		}
	}()
	s.Cleanup(func() {
		stop()
		<-done
	})
}

// hooked submits a task that counts, with a webhook.
func (s *stack) hooked(id string, h *hook) a2a.TaskID {
	s.Helper()
	task, err := send(s.Context(), s.url, fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"count 2"}]},"configuration":{"returnImmediately":true,
		"taskPushNotificationConfig":{"id":"hook","url":%q,"authentication":{"scheme":"Bearer","credentials":"of-%s"}}}}`, id, h.url, id))
	if err != nil {
		s.Fatal(err)
	}
	return task.ID
}

// delivered waits for the end of a task, and holds what its receiver took against what
// callers see: every update, once, in order, under an id that stays.
func (s *stack) delivered(h *hook, id a2a.TaskID) {
	s.Helper()
	until(s.T, "the end was delivered", func() (bool, string) {
		_, taken := h.seen()
		return len(taken) > 0 && taken[len(taken)-1].state == string(a2a.TaskStateCompleted), fmt.Sprintf("%d updates", len(taken))
	})
	entries, err := verify(s.Context(), s.auth, refTo(id))
	if err != nil {
		s.Error(err)
	}
	want, err := entries.visible()
	if err != nil {
		s.Fatal(err)
	}
	_, taken := h.seen()
	var got []uint64
	for _, d := range taken {
		got = append(got, d.seq)
		if !strings.HasPrefix(d.authorization, "Bearer of-") {
			s.Errorf("Authorization %q", d.authorization)
		}
	}
	if !slices.Equal(got, want) || entries.State != lifecycle.Completed {
		s.Errorf("the receiver took the updates %v, callers see %v", got, want)
	}
	if len(h.ids) > 0 && !h.ids[taken[0].id] {
		s.Errorf("the first update was refused under %v and taken under %s", h.ids, taken[0].id)
	}
}

// come lets a receiver come up once it was tried.
func (h *hook) come(t *testing.T) {
	t.Helper()
	until(t, "the receiver that is down was tried", func() (bool, string) {
		n, _ := h.seen()
		return n > 0, fmt.Sprintf("%d tries", n)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = false
}

// A webhook that came with the submission gets every update, in order and under ids
// that stay, by the stream function; one that is down at first gets them by an execution
// of the delivery machine, when it is up again. Neither changes the task (I11; cases 51
// and 54). With a key in KMS it is the same, and costs a call for each process.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	for name, wrapped := range map[string]bool{"as it is": false, "the key ring is wrapped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := &counts{}
			p := plan{env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8", "HOLDFAST_GRACE=5m"}} // the sweep has nothing to do
			if wrapped {
				p.key, p.kms = newKMSKey(t), newProxy(t, dynamoEndpoint, calls.count)
			}
			s := newStack(t, p)
			s.feedOften()
			up, late := newHook(t, false), newHook(t, true)
			prompt, belated := s.hooked("up", up), s.hooked("late", late)
			late.come(t)
			s.delivered(up, prompt)
			s.delivered(late, belated)
			// On a machine that is slow enough, the stream function's time is spent before everything is delivered.
			t.Logf("executions of the task whose webhook takes everything at once: %q", s.machine.executions(string(prompt)+"-"))
			turns := 0
			for _, name := range s.machine.executions(string(belated) + "-") {
				if strings.HasPrefix(name, string(belated)+"-g") {
					continue
				}
				turns += s.machine.visited(name, "Deliver")
				until(t, "the execution has ended", func() (bool, string) {
					r, ended := s.machine.result(name)
					return ended && r.Err == nil, fmt.Sprintf("%+v", r)
				})
			}
			if turns == 0 {
				t.Error("no execution has delivered anything")
			}
			for _, l := range s.logs.lines(fnSweep, "sweep") {
				if swept, _ := l["endpoints"].(map[string]any); swept["behind"] != float64(0) {
					t.Errorf("the sweep has delivered: %v", l)
				}
			}
			s.checkRing(wrapped, calls)
		})
	}
}

// counts are requests to KMS by their operation.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) count(x *exchange) *reply {
	c.mu.Lock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[x.op]++
	c.mu.Unlock()
	return x.forward()
}

func newKMSKey(t *testing.T) string {
	t.Helper()
	out, err := kms.NewFromConfig(configuration(dynamoEndpoint)).CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.KeyMetadata.Arn)
}

// checkRing looks at the ring as it lies in the table, and at what it cost.
func (s *stack) checkRing(wrapped bool, calls *counts) {
	s.Helper()
	for _, name := range []string{"seal-1", "webhook-1"} {
		kept, err := s.ledger.Secret(s.Context(), name, nil)
		if err != nil || len(kept) == 0 || (len(kept) == ed25519.SeedSize) == wrapped {
			s.Errorf("the key %s lies in the table with %d bytes, %v", name, len(kept), err)
		}
	}
	calls.mu.Lock()
	defer calls.mu.Unlock()
	// Two processes of each of three functions open it; those that were first may have
	// come at the same time.
	if n := calls.of["Encrypt"] + calls.of["Decrypt"]; wrapped && (calls.of["Encrypt"] == 0 || n > 6+2 || len(calls.of) > 2) || !wrapped && n > 0 {
		s.Errorf("calls of KMS: %v", calls.of)
	}
}

// An execution that was stopped by hand, or never came to life, is found by the sweep,
// which begins another and delivers nothing itself (case 67).
func TestLostDeliveryExecution(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8"}})
	s.machine.breaks(func() { s.machine.lose[deliveryARN] = 2 })
	s.feedOften()
	late := newHook(t, true)
	id := s.hooked("late", late)
	late.come(t)
	s.delivered(late, id)
	var lost, worked int
	for _, name := range s.machine.executions(string(id) + "-") {
		if n := s.machine.visited(name, "Deliver"); strings.HasPrefix(name, string(id)+"-g") {
			continue
		} else if n > 0 {
			worked++
		}
		if strings.HasSuffix(name, "-d1") || strings.HasSuffix(name, "-d2") {
			lost++
		}
	}
	if lost != 2 || worked == 0 {
		t.Errorf("executions: %q", s.machine.executions(string(id)+"-"))
	}
}

// An endpoint that said it was gone gets nothing more, until an operator has it replayed:
// then all of it, in order. Who is no operator may not, and another tenant learns nothing.
func TestReplayedByAnOperator(t *testing.T) {
	t.Parallel()
	sum := func(key string) string { b := sha256.Sum256([]byte(key)); return hex.EncodeToString(b[:]) }
	const operator = "operators-0123456789abcdefghijklmnopq"
	s := newStack(t, plan{env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8", "HOLDFAST_GRACE=5m",
		fmt.Sprintf(`HOLDFAST_API_KEYS=[{"tenant":%q,"name":"tests","sha256":%q},{"tenant":%q,"name":"ops","sha256":%q,"scopes":["operator:act"]},{"tenant":%q,"name":"ops","sha256":%q,"scopes":["operator:act"]}]`,
			tenant, sum(apiKey), tenant, sum(operator), stranger, sum(strangerKey))}})
	s.feedOften()
	h := newHook(t, true)
	h.refusal = http.StatusGone
	id := s.hooked("gone", h)
	s.reaches(refTo(id), lifecycle.Completed)
	until(t, "the endpoint is disabled", func() (bool, string) {
		e, err := s.ledger.Endpoint(t.Context(), refTo(id), "hook")
		return e.Delivery.State == ledger.DeliveryDisabled, fmt.Sprintf("%+v, %v", e.Delivery, err)
	})
	h.come(t)
	address := s.url + "/tasks/" + string(id) + "/pushNotificationConfigs"
	for key, want := range map[string]int{apiKey: http.StatusForbidden, strangerKey: http.StatusNotFound} {
		if a, err := call(t.Context(), http.MethodPost, address+"/hook/replay", "", "Authorization", "Bearer "+key); err != nil || a.status != want {
			t.Errorf("%s, %v; want %d", a, err, want)
		}
	}
	var done struct {
		Deliveries []struct {
			ID       string
			Replayed bool
			Was      string
		}
	}
	if err := ask(t.Context(), &done, http.MethodPost, address+":replay", `{"since":0}`, "Authorization", "Bearer "+operator); err != nil {
		t.Fatal(err)
	}
	if len(done.Deliveries) != 1 || !done.Deliveries[0].Replayed || done.Deliveries[0].Was != "disabled" {
		t.Errorf("%+v", done)
	}
	s.delivered(h, id)
	if tries, taken := h.seen(); tries != 1+len(taken) {
		t.Errorf("%d requests for %d updates and one refusal", tries, len(taken))
	}
}
