package receiver_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

const token = "token-0123456789"

// began is when these tests take place.
var began = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// deployment is a sender with its keys, and a receiver over HTTP. Time is what a test
// says it is.
type deployment struct {
	t       *testing.T
	path    string // of the inbox
	inbox   *receiver.Inbox
	handler *receiver.Receiver

	mu      sync.Mutex
	now     time.Time
	known   []ed25519.PrivateKey // whose public halves are published
	away    bool                 // the keys cannot be had
	fetches int
}

func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, path: t.TempDir() + "/inbox.ndjson", now: began, known: []ed25519.PrivateKey{key(1)}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	keys, err := receiver.KeysAt(server.URL+"/.well-known/webhook-keys.json", d.clock)
	if err != nil {
		t.Fatal(err)
	}
	d.handler = &receiver.Receiver{Keys: keys, Token: token}
	d.open()
	t.Cleanup(func() { _ = d.inbox.Close() })
	return d
}

// open opens the inbox, as a process that begins does.
func (d *deployment) open() {
	d.t.Helper()
	if d.inbox != nil {
		_ = d.inbox.Close()
	}
	var err error
	if d.inbox, err = receiver.OpenInbox(d.path); err != nil {
		d.t.Fatal(err)
	}
	d.handler.Store = d.inbox
}

func (d *deployment) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *deployment) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *deployment) publish(away bool, keys ...ed25519.PrivateKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away, d.known = away, keys
}

func (d *deployment) fetched() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fetches
}

// ServeHTTP publishes the keys.
func (d *deployment) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fetches++
	if d.away {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	texts := []string{"whpk_short", "other_" + strings.Repeat("A", 43) + "="}
	for _, k := range d.known {
		public, _ := k.Public().(ed25519.PublicKey)
		texts = append(texts, "whpk_"+base64.StdEncoding.EncodeToString(public))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": texts})
}

// sent is a request as the sender makes it, for a test to spoil.
type sent struct {
	*http.Request

	body []byte
}

// update is what is sent for an entry of a task, signed with keys.
func (d *deployment) update(task string, seq uint64, keys ...ed25519.PrivateKey) sent {
	return d.signed(fmt.Sprintf("msg_%s-%d", task, seq), seq, fmt.Appendf(nil,
		`{"statusUpdate":{"taskId":%q,"contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"urn:holdfast:a2a:durable-task:v1":{"sequence":%d}}}}`, task, seq), keys...)
}

func (d *deployment) signed(id string, seq uint64, body []byte, keys ...ed25519.PrivateKey) sent {
	if len(keys) == 0 {
		keys = []ed25519.PrivateKey{key(1)}
	}
	stamp := strconv.FormatInt(d.clock().Unix(), 10)
	var signatures []string
	for _, k := range keys {
		signatures = append(signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(k, append([]byte(id+"."+stamp+"."), body...))))
	}
	r := httptest.NewRequestWithContext(d.t.Context(), http.MethodPost, "/hook", http.NoBody)
	for name, value := range map[string]string{
		"Content-Type": "application/a2a+json", "A2A-Notification-Token": token, "Holdfast-Sequence": strconv.FormatUint(seq, 10),
		"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": strings.Join(signatures, " "),
	} {
		r.Header.Set(name, value)
	}
	return sent{r, body}
}

// send is one attempt; it returns the status.
func (d *deployment) send(s sent) int {
	d.t.Helper()
	r := s.Clone(d.t.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if text := w.Body.String(); strings.Contains(text, token) || strings.Contains(text, "signed") {
		d.t.Errorf("the answer says %q", text)
	}
	return w.Code
}

func (d *deployment) want(s sent, status int) {
	d.t.Helper()
	if got := d.send(s); got != status {
		d.t.Errorf("answered %d, want %d", got, status)
	}
}

// stored is what the inbox has, as task:sequence.
func (d *deployment) stored() string {
	d.t.Helper()
	list, err := d.inbox.Updates()
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, u := range list {
		out = append(out, fmt.Sprintf("%s:%d", u.Task, u.Sequence))
	}
	return strings.Join(out, " ")
}

func (d *deployment) wantStored(want string) {
	d.t.Helper()
	if got := d.stored(); got != want {
		d.t.Errorf("stored is %q, want %q", got, want)
	}
}
