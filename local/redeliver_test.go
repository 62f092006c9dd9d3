package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// comeBack lets a receiver that has said it is gone take what comes.
func (r *taker) comeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = false
}

// A webhook that said it was gone shows in the operator's view, with what to do; done, it
// gets everything in order, and again under the same ids where that is wanted (I11; cases
// 51 and 59).
func TestRedeliver(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	hook := newTaker(t, 0)
	hook.gone = true
	_, answer := p.call(http.MethodPost, "/message:send", hooked("count-1", "count 2", hook.url))
	var submitted struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &submitted); err != nil || submitted.Task.ID == "" {
		t.Fatalf("%s: %v", answer, err)
	}
	id := submitted.Task.ID
	<-hook.news // it has said so
	p.ends(id)
	show := p.shows(id, "disabled, has ")
	has(t, show, "disabled, has ", "410 status", "nothing more is sent, until it is configured again or: local redeliver "+id+" --endpoint hook")

	hook.comeBack()
	for _, args := range []string{"--since 99 " + id, "--endpoint other " + id} {
		if _, _, err := played(t, append([]string{"redeliver", "--server", p.url}, strings.Fields(args)...)...); err == nil {
			t.Errorf("%s is no failure", args)
		}
	}
	out, logs, err := played(t, "redeliver", "--server", p.url, "--endpoint", "hook", id)
	if err != nil || !strings.Contains(out, "webhook hook, which was disabled, gets what comes after entry 0") {
		t.Fatalf("%s%s%v", out, logs, err)
	}
	taken := hook.until(t, "TASK_STATE_COMPLETED")
	want := p.updates(id)
	if got := sequences(taken); got != strings.Join(want, " ") {
		t.Errorf("delivered were %s, callers see %v", got, want)
	}
	ids := map[string]string{}
	for _, got := range taken {
		ids[got.seq] = got.header.Get("webhook-id")
	}
	p.shows(id, "active, has ")
	hook.forget()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); { // the sender may not have rested yet
		out, _, err = played(t, "redeliver", "--server", p.url, id, "--since", "1")
		if err == nil || !strings.Contains(err.Error(), "under way") {
			break
		}
	}
	if err != nil || !strings.Contains(out, "which was active, gets what comes after entry 1") {
		t.Fatalf("%s, %v", out, err)
	}
	again := hook.until(t, "TASK_STATE_COMPLETED")
	if got := sequences(again); got != strings.Join(want[1:], " ") { // the first update has sequence 1
		t.Errorf("delivered again were %s, of %v", got, want)
	}
	for _, got := range again {
		if got.header.Get("webhook-id") != ids[got.seq] {
			t.Errorf("update %s came under another id", got.seq)
		}
	}
	stop()
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func sequences(list []received) string {
	var out []string
	for _, got := range list {
		out = append(out, got.seq)
	}
	return strings.Join(out, " ")
}

// forget lets a receiver begin anew.
func (r *taker) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries, r.taken = nil, nil
}

// ends waits for a task's end.
func (p *process) ends(id string) {
	p.t.Helper()
	out, logs, err := played(p.t, "watch", "--server", p.url, id)
	if err != nil {
		p.t.Fatalf("%s%s%v", out, logs, err)
	}
}

// shows waits until the operator's view of a task has a text.
func (p *process) shows(id, text string) string {
	p.t.Helper()
	var out string
	for range 100 {
		var err error
		if out, _, err = played(p.t, "show", "--server", p.url, id); err != nil {
			p.t.Fatal(err)
		}
		if strings.Contains(out, text) {
			return out
		}
	}
	p.t.Fatalf("%q does not come in\n%s", text, out)
	return ""
}

func TestParseRedeliver(t *testing.T) {
	r, err := parseRedeliver(strings.Fields("a --endpoint hook --since 0 --agent x --server http://127.0.0.1:1"), &record{})
	if err != nil || r.task != "a" || r.endpoint != "hook" || r.since != 0 || r.agent != "x" || r.server != "http://127.0.0.1:1" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := parseRedeliver([]string{"a"}, &record{}); err != nil || r.since != -1 {
		t.Errorf("%+v, %v", r, err)
	}
	for args, want := range map[string]string{
		"": "one task at a time, not 0", "a b": "one task at a time, not 2", "a --since -1": "--since must be a sequence", "a --since x": "see the usage above",
		"a --server 127.0.0.1:1": "an address such as", "a --file x": "flag provided but not defined",
	} {
		if _, err := parseRedeliver(strings.Fields(args), &record{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// A server that is not there is said to be so.
func TestRedeliverWithoutAServer(t *testing.T) {
	if _, _, err := played(t, "redeliver", "--server", "http://127.0.0.1:1", "a"); err == nil || !strings.Contains(err.Error(), "asking the server") {
		t.Error(err)
	}
}
