package webhook_test

// The ledger is the model of ledgertest, time is synctest's, and receivers answer in
// the process. What a test asserts is what a receiver saw and what the ledger keeps.
// Connections are real in guard_test.go and client_test.go alone.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/seal"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const (
	grace  = 10 * time.Second
	budget = time.Minute
)

var sealer, _ = seal.NewKeys(seal.Key{ID: "test", Secret: make([]byte, seal.KeyBytes)})

// signing are two private keys; the second one is of RFC 8032, 7.1, test 1.
var signing = webhook.Signer{
	private("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
	private("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
}

func private(seed string) ed25519.PrivateKey {
	raw, _ := hex.DecodeString(seed)
	return ed25519.NewKeyFromSeed(raw)
}

// world is a task with entries that a test makes up, its endpoints, and receivers.
type world struct {
	t      *testing.T
	ledger *ledgertest.Memory
	ref    lifecycle.Ref
	logs   *bytes.Buffer
	logger *slog.Logger // one for all senders: it alone writes to logs

	mu        sync.Mutex
	updates   []webhook.Update
	receivers map[string]*receiver // by host
	holders   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ledger: ledgertest.NewMemory(), logs: &bytes.Buffer{}, receivers: map[string]*receiver{}}
	w.logger = slog.New(slog.NewJSONHandler(w.logs, nil))
	w.ref = w.task()
	return w
}

// task makes a task that exists, and no more.
func (w *world) task() lifecycle.Ref {
	w.t.Helper()
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	auth := &ledger.Authority{Ledger: w.ledger, Now: time.Now, NewID: a2a.NewMessageID}
	submit := lifecycle.Submit{
		ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do")),
		Principal: "principal", RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}
	if _, err := auth.Create(w.t.Context(), ref, submit, lifecycle.Source{Producer: "client"}, nil); err != nil {
		w.t.Fatal(err)
	}
	return ref
}

// endpoint registers https://<id>.example/ with a receiver behind it.
func (w *world) endpoint(id string, answer func(n int, r *http.Request) (*http.Response, error)) ledger.DueDelivery {
	w.t.Helper()
	at := ledger.DueDelivery{Ref: w.ref, ID: id}
	e := ledger.Endpoint{ID: id, URL: "https://" + id + ".example/hook?key=" + planted, Scheme: "Custom", Agent: "agent", Base: "https://agent.example", Delivery: ledger.Delivery{Incarnation: "made-" + id, DueAt: time.Now().Add(webhook.CheckEvery)}}
	var err error
	if e.Secrets, err = webhook.SealSecrets(w.t.Context(), sealer, at, e.URL, webhook.Secrets{Token: "token-" + planted, Credentials: "credentials-" + planted}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.ledger.PutEndpoint(w.t.Context(), w.ref, e); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receivers[id+".example"] = &receiver{answer: answer}
	return at
}

func (w *world) receiver(at ledger.DueDelivery) *receiver { return w.receivers[at.ID+".example"] }

// RoundTrip implements http.RoundTripper.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.receivers[r.URL.Host].take(r)
}

// commit appends entries: v is one that callers see, i one that they do not, F and f
// the same as the task's end. It returns the last as a change.
func (w *world) commit(kinds string) ledger.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range kinds {
		u := webhook.Update{Seq: uint64(len(w.updates) + 1), Final: strings.ContainsRune("Ff", k)}
		if strings.ContainsRune("vF", k) {
			u.Body = fmt.Appendf(nil, `{"update":%d}`, u.Seq)
		}
		w.updates = append(w.updates, u)
	}
	return w.change(uint64(len(w.updates)))
}

func (w *world) change(seq uint64) ledger.Change {
	return ledger.Change{Ref: w.ref, Entry: lifecycle.Entry{Task: w.ref.Task, Seq: seq}}
}

// source is a webhook.Source.
func (w *world) source(_ context.Context, _ ledger.DueDelivery, _ ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.updates[min(int(after), len(w.updates)):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (w *world) head(context.Context, ledger.DueDelivery) (uint64, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.updates)
	return uint64(n), n > 0 && w.updates[n-1].Final, nil
}

// sender is a process of its own.
func (w *world) sender() *webhook.Sender {
	client := webhook.Guard{}.Client()
	client.Transport = w
	return &webhook.Sender{
		Endpoints: w.ledger, Updates: w.source, Client: client, Sealer: sealer, Signer: signing,
		Now: time.Now, Dice: func() float64 { return 1 }, Grace: grace, Logger: w.logger,
		NewID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.holders++
			return "holder-" + strconv.Itoa(w.holders)
		},
	}
}

// hint tells a sender of a change and delivers to what is due.
func (w *world) hint(s *webhook.Sender, c ledger.Change) []webhook.Result {
	w.t.Helper()
	now, later, err := s.Hint(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []webhook.Result
	for _, at := range append(now, later...) {
		out = append(out, w.send(s, at))
	}
	return out
}

func (w *world) send(s *webhook.Sender, at ledger.DueDelivery) webhook.Result {
	w.t.Helper()
	res, err := s.Send(w.t.Context(), at, budget)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// deliver is what a state machine does: send, wait, send.
func (w *world) deliver(s *webhook.Sender, at ledger.DueDelivery) webhook.Result {
	w.t.Helper()
	for range 100 {
		res := w.send(s, at)
		if res.Word == webhook.Done {
			return res
		}
		pass(time.Duration(res.Seconds) * time.Second)
	}
	w.t.Fatal("the delivery does not end")
	return webhook.Result{}
}

// executed is what an execution of an endpoint is told.
func executed(at ledger.DueDelivery, generation uint64, seconds int64) webhook.Execution {
	return webhook.Execution{Tenant: at.Ref.Tenant, Task: string(at.Ref.Task), Endpoint: at.ID, Incarnation: "made-" + at.ID, Generation: generation, Outcome: webhook.Outcome{Seconds: seconds}}
}

func pass(d time.Duration) { <-time.After(d) } // in a bubble

func (w *world) delivery(at ledger.DueDelivery) ledger.Delivery {
	w.t.Helper()
	e, err := w.ledger.Endpoint(context.Background(), at.Ref, at.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return e.Delivery
}

// request is what a receiver saw.
type request struct {
	seq    uint64
	id     string
	at     time.Time
	header http.Header
	body   string
	taken  bool
}

// receiver answers requests and remembers them.
type receiver struct {
	answer func(n int, r *http.Request) (*http.Response, error) // n from 1; nil takes all

	mu   sync.Mutex
	open int
	most int // requests open at once
	seen []request
}

func (v *receiver) take(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	seq, _ := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	v.mu.Lock()
	v.open++
	v.most = max(v.most, v.open)
	n := len(v.seen)
	v.seen = append(v.seen, request{seq: seq, id: r.Header.Get("webhook-id"), at: time.Now(), header: r.Header, body: string(body)})
	v.mu.Unlock()
	resp, err := status(200), error(nil)
	if v.answer != nil {
		resp, err = v.answer(n+1, r)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open--
	v.seen[n].taken = err == nil && resp.StatusCode/100 == 2
	return resp, err
}

func (v *receiver) requests() []request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.seen)
}

// wantUpdates holds what a receiver saw against I11: every update was taken, in order,
// none before the one before it was, each under one id of its own.
func (v *receiver) wantUpdates(t *testing.T, want ...uint64) {
	t.Helper()
	var taken []uint64
	ids := map[string]uint64{}
	for _, r := range v.requests() {
		if known, again := ids[r.id]; r.id == "" || strings.Contains(r.id, ".") || again && known != r.seq {
			t.Errorf("update %d came under the id %q, which was of update %d", r.seq, r.id, known)
		}
		ids[r.id] = r.seq
		if want := fmt.Sprintf(`{"update":%d}`, r.seq); r.body != want {
			t.Errorf("update %d has the body %s", r.seq, r.body)
		}
		last := uint64(0)
		if len(taken) > 0 {
			last = taken[len(taken)-1]
		}
		if next := len(taken); r.seq != last && (next >= len(want) || r.seq != want[next]) {
			t.Errorf("update %d was sent when %v had been taken of %v", r.seq, taken, want)
		}
		if r.taken && r.seq != last {
			taken = append(taken, r.seq)
		}
	}
	if !slices.Equal(taken, want) || len(ids) != len(want) {
		t.Errorf("the receiver took %v under %d ids, want %v", taken, len(ids), want)
	}
	if v.most > 1 {
		t.Errorf("%d requests were open at once", v.most)
	}
}

func status(code int, header ...string) *http.Response {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("answer-" + planted))}
	for i := 0; i+1 < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

// slowly answers 200 after a time.
func slowly(d time.Duration) func(int, *http.Request) (*http.Response, error) {
	return func(_ int, r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return status(200), nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// script answers with these statuses, the last one for ever.
func script(codes ...int) func(int, *http.Request) (*http.Response, error) {
	return func(n int, _ *http.Request) (*http.Response, error) { return status(codes[min(n, len(codes))-1]), nil }
}
