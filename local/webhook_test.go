package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// received is one request that a webhook got.
type received struct {
	header http.Header
	body   []byte
	seq    string
	state  string
}

// taker is a webhook on this machine. It fails its first attempts when it is told to.
type taker struct {
	url  string
	news chan struct{}

	mu    sync.Mutex
	fail  int
	gone  bool
	tries []received
	taken []received
}

func newTaker(t *testing.T, fail int) *taker {
	r := &taker{fail: fail, news: make(chan struct{}, 1000)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

// ServeHTTP implements http.Handler.
func (r *taker) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var update struct {
		StatusUpdate struct{ Status struct{ State string } } `json:"statusUpdate"`
	}
	_ = json.Unmarshal(body, &update) // an artifact has no state
	got := received{req.Header.Clone(), body, req.Header.Get("Holdfast-Sequence"), update.StatusUpdate.Status.State}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = append(r.tries, got)
	switch {
	case r.gone:
		w.WriteHeader(http.StatusGone)
	case len(r.tries) <= r.fail:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		r.taken = append(r.taken, got)
	}
	r.news <- struct{}{}
}

// until waits for a state.
func (r *taker) until(t *testing.T, state string) []received {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		taken := r.taken
		r.mu.Unlock()
		if n := len(taken); n > 0 && taken[n-1].state == state {
			return taken
		}
		select {
		case <-r.news:
		case <-limit:
			t.Fatalf("no update with %s among %d", state, len(taken))
		}
	}
}

const hookSecret = "hook-secret-0123456789"

func hooked(id, text, url string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true,
		"taskPushNotificationConfig":{"id":"hook","url":%q,"token":%q,"authentication":{"scheme":"Bearer","credentials":%q}}}}`, id, text, url, hookSecret+"-token", hookSecret+"-credentials")
}

// A webhook that came with the submission gets every update of the task once and in
// order, signed and with what it was configured with, though its first attempts fail;
// nothing of its secrets is in the data folder, the answers or the logs (I9, I11; cases
// 51 and 54).
func TestWebhook(t *testing.T) {
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data)
	hook := newTaker(t, 1)
	status, answer := p.call(http.MethodPost, "/message:send", hooked("count-1", "count 3", hook.url))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	var submitted struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &submitted); err != nil {
		t.Fatal(err)
	}
	taken := hook.until(t, "TASK_STATE_COMPLETED")
	streamed := p.updates(submitted.Task.ID)
	if len(taken) != len(streamed) {
		t.Errorf("%d updates arrived, the ledger shows %d to callers", len(taken), len(streamed))
	}
	for i, got := range taken {
		if i < len(streamed) && got.seq != streamed[i] {
			t.Errorf("update %d has the sequence %s, want %s", i, got.seq, streamed[i])
		}
		h := got.header
		if h.Get("Authorization") != "Bearer "+hookSecret+"-credentials" || h.Get("A2A-Notification-Token") != hookSecret+"-token" || h.Get("X-A2A-Notification-Token") != hookSecret+"-token" || h.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("headers %v", h)
		}
		if !signed(t, p, got) {
			t.Errorf("the signature of update %s does not hold", got.seq)
		}
	}
	if hook.tries[0].header.Get("webhook-id") != taken[0].header.Get("webhook-id") {
		t.Error("an attempt has another id than the one before it")
	}
	_, list := p.call(http.MethodGet, "/tasks/"+submitted.Task.ID+"/pushNotificationConfigs", "")
	stop()
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	for where, text := range map[string]string{"an answer": answer + list, "the log": p.logs.String()} {
		if strings.Contains(text, hookSecret) {
			t.Errorf("%s shows a secret", where)
		}
	}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(content), hookSecret) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// updates are the sequences that callers see of a task, by a resumed stream's ids, or
// of a task that has ended by folding its ledger: all but those without a message or a
// new state.
func (p *process) updates(task string) (out []string) {
	p.t.Helper()
	_, answer := p.call(http.MethodGet, "/tasks/"+task+"/ledger?limit=1000", "")
	var page struct {
		Entries []struct {
			Seq     uint64
			Payload struct {
				State   string
				Message json.RawMessage
				Chunk   json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &page); err != nil || len(page.Entries) == 0 {
		p.t.Fatalf("%s: %v", answer, err)
	}
	for _, e := range page.Entries {
		if e.Payload.State != "" || e.Payload.Message != nil || e.Payload.Chunk != nil {
			out = append(out, fmt.Sprint(e.Seq))
		}
	}
	return out
}

// signed verifies a request as a receiver does (Standard Webhooks, v1a), with the keys
// that the server publishes.
func signed(t *testing.T, p *process, got received) bool {
	t.Helper()
	_, text := p.call(http.MethodGet, "/.well-known/webhook-keys.json", "")
	var published struct{ Keys []string }
	if err := json.Unmarshal([]byte(text), &published); err != nil || len(published.Keys) == 0 {
		t.Fatalf("the published keys: %s, %v", text, err)
	}
	content := got.header.Get("webhook-id") + "." + got.header.Get("webhook-timestamp") + "." + string(got.body)
	for _, key := range published.Keys {
		public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whpk_"))
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.FieldsSeq(got.header.Get("webhook-signature")) {
			signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1a,"))
			if err == nil && ed25519.Verify(public, []byte(content), signature) {
				return true
			}
		}
	}
	return false
}

// A server that was killed with updates undelivered brings them when it is back.
func TestWebhookAfterARestart(t *testing.T) {
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--grace", "1s", "--sweep", "100ms")
	hook := newTaker(t, 1)
	if status, answer := p.call(http.MethodPost, "/message:send", hooked("hello-1", "Ada", hook.url)); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	<-hook.news // the first attempt has failed; the next one is seconds away
	stop()
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	p = launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--grace", "1s", "--sweep", "100ms")
	taken := hook.until(t, "TASK_STATE_COMPLETED")
	seen := map[string]bool{}
	for _, got := range taken {
		if seen[got.seq] {
			t.Errorf("update %s came twice", got.seq)
		}
		seen[got.seq] = true
	}
	stop()
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
