package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

// received waits until the receiver has a state, and returns what it prints of what it
// took.
func (p *process) received(state, path string) []receiver.Update {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), patience)
	defer stop()
	for {
		if _, text := p.call(http.MethodGet, "/received", ""); strings.Contains(text, state) {
			break
		}
		if ctx.Err() != nil {
			p.t.Fatalf("%s did not arrive", state)
		}
	}
	var out bytes.Buffer
	if err := run(p.t.Context(), []string{"receive", "--list", "--state", path}, &out, io.Discard); err != nil {
		p.t.Fatal(err)
	}
	var list []receiver.Update
	for line := range bytes.Lines(out.Bytes()) {
		var u receiver.Update
		if err := json.Unmarshal(line, &u); err != nil {
			p.t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

// The receiver for one's own machine takes what the server sends, also when its first
// attempts are made to fail, and refuses what does not have its token.
func TestReceive(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	path := filepath.Join(t.TempDir(), "received.ndjson")
	t.Setenv("HOLDFAST_WEBHOOK_TOKEN", hookSecret+"-token")
	r := launch(ctx, t, "receive", "--addr", "127.0.0.1:0", "--server", p.url+"/", "--state", path, "--fail", "lost")
	status, answer := p.call(http.MethodPost, "/message:send", hooked("count-1", "count 2", r.url+"/hook"))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	var submitted struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &submitted); err != nil {
		t.Fatal(err)
	}
	list := r.received("TASK_STATE_COMPLETED", path)
	if want := p.updates(submitted.Task.ID); len(list) != len(want) || list[0].Sequence != 1 || list[0].Task != submitted.Task.ID {
		t.Errorf("%d updates were taken, callers see %d: %+v", len(list), len(want), list)
	}
	if _, text := r.call(http.MethodGet, "/received", ""); !strings.Contains(text, `"outcome":"repeat"`) {
		t.Errorf("the update whose answer was lost did not come again: %s", text)
	}
	if code, _ := r.call(http.MethodPost, "/hook", "{}"); code != http.StatusUnauthorized {
		t.Errorf("a request without the token: %d", code)
	}
	stop()
	for _, one := range []*process{p, r} {
		if err := one.wait(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
}

func TestReceiveFlags(t *testing.T) {
	folder := t.TempDir()
	state := filepath.Join(folder, "received.ndjson")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"now"}, `unexpected argument "now"`},
		{[]string{"--state", filepath.Join(folder, "no", "file")}, "no such file"},
		{[]string{"--state", state, "--fail", "sometimes"}, `--fail: "sometimes"`},
		{[]string{"--state", state, "--server", "http://a.example"}, "not https"},
		{[]string{"--state", state, "--addr", "nowhere"}, "the receiver of webhooks"},
	} {
		if err := run(t.Context(), append([]string{"receive"}, c.args...), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	if err := os.WriteFile(state, []byte("hello\nworld\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"receive", "--list", "--state", state}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file that is something else: %v", err)
	}
}
