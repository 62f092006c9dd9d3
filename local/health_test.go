package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/health"
)

// event reports as an outside producer; the payload is canonical JSON.
func (p *process) event(task, id, payload string) int {
	p.t.Helper()
	status, _ := p.call(http.MethodPost, "/capitals/tasks/"+task+"/events", fmt.Sprintf(
		`{"eventId":%q,"producer":"w1","observedAt":"2026-03-02T09:00:00.000Z","payloadDigest":"%x","payload":%s}`, id, sha256.Sum256([]byte(payload)), payload))
	return status
}

// An operator asks a server what is wrong: the light, the task, the number and where to
// read what to do. The file of metrics has the same in CloudWatch's words, once.
func TestHealthCommand(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	file := filepath.Join(t.TempDir(), "metrics.ndjson")
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--outside", "capitals", "--metrics", file)
	out, _, err := played(t, "health", "--server", p.url)
	if err != nil || strings.Count(out, "green") != len(health.Invariants()) || !strings.Contains(out, "green I8  Tasks past due without a lease: 0\n") {
		t.Errorf("%v\n%s", err, out)
	}
	status, answer := p.call(http.MethodPost, "/capitals/message:send", fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"go"}]},"configuration":{"returnImmediately":true}}`, a2a.NewMessageID()))
	var sent struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &sent); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	if status := p.event(sent.Task.ID, "e-1", `{"kind":"claim","leaseSeconds":30}`); status != http.StatusOK {
		t.Fatalf("a claim: %d", status)
	}
	if status := p.event(sent.Task.ID, "e-1", `{"kind":"claim","leaseSeconds":31}`); status != http.StatusConflict {
		t.Fatalf("the same event with other bytes: %d", status)
	}
	out, _, err = played(t, "health", "--server", p.url+"/")
	if !errors.Is(err, errUnwell) {
		t.Errorf("a red light: %v", err)
	}
	for _, want := range []string{"red   I6  Conflicting content: 1, 1 tasks\n", sent.Task.ID, "infra/RUNBOOK.md#conflicting-content", "green I2"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	out, _, _ = played(t, "health", "--server", p.url, "--json")
	var report health.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Worst() != health.Red {
		t.Errorf("%v: %s", err, out)
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.Count(string(raw), `"ConflictingContent":1`) != 1 || strings.Contains(string(raw), "msg=") {
		t.Errorf("%v: %s", err, raw)
	}
	if logs := p.logs.String(); strings.Count(logs, "ConflictingContent=1") != 1 || strings.Contains(logs, "_aws") || !strings.Contains(logs, "task="+sent.Task.ID) {
		t.Errorf("the log: %s", logs)
	}
}

func TestHealthCommandRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no server":   {[]string{"--server", "http://127.0.0.1:1"}, "asking the server"},
		"an argument": {[]string{"T-1"}, `unexpected argument "T-1"`},
		"a flag":      {[]string{"--shiny"}, "shiny"},
	} {
		if _, _, err := played(t, append([]string{"health"}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for flag, want := range map[string]string{"--health-late": "must be positive", "--health-window": "must be positive"} {
		if _, _, err := played(t, "serve", flag, "0s"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s 0s: %v", flag, err)
		}
	}
	if _, _, err := played(t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--metrics", t.TempDir()); err == nil || !strings.Contains(err.Error(), "the file of metrics") {
		t.Errorf("a folder for the metrics: %v", err)
	}
}

// On AWS a server asks who is there: the tools show the key that the environment has,
// and no other header of theirs says more.
func TestToolsShowTheirKey(t *testing.T) {
	shown := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.URL.Path + " " + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	t.Setenv("HOLDFAST_KEY", "secret-of-an-operator")
	for path, args := range map[string][]string{
		"/health":           {"health", "--server", server.URL},
		"/tasks/T-1/export": {"show", "--server", server.URL, "T-1"},
		"/tasks/T-1/pushNotificationConfigs:replay": {"redeliver", "--server", server.URL, "T-1"},
	} {
		out, logs, err := played(t, args...)
		if got := <-shown; got != path+" Bearer secret-of-an-operator" {
			t.Errorf("it asked with %q", got)
		}
		if err == nil || strings.Contains(out+logs+err.Error(), "secret") {
			t.Errorf("refused with %v: %s%s", err, out, logs)
		}
	}
}
