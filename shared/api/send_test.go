package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.1.1, §3.2.2: a blocking send waits for the end and answers with everything,
// equal to GetTask (case 12).
func TestSendBlocks(t *testing.T) {
	both(t, []func(*world){completing}, func(w *world, c client) {
		t := w.t
		got := c.ok("SendMessage", object{"message": message("m-1", "do it")})
		if len(got) != 1 {
			t.Errorf("the answer has %d members, want the task alone: %v", len(got), got)
		}
		if s := text(got, "task.status.state"); s != "TASK_STATE_COMPLETED" {
			t.Errorf("state %s", s)
		}
		for path, want := range map[string]string{
			"task.status.message.parts.0.text": "Done.",
			"task.artifacts.0.artifactId":      "report",
			"task.artifacts.0.parts.0.text":    "All",
			"task.artifacts.0.parts.1.text":    " is well.",
			"task.history.0.messageId":         "m-1",
			"task.history.0.parts.0.text":      "do it",
			"task.history.0.contextId":         text(got, "task.contextId"),
			"task.history.1.parts.0.text":      "Working on it.",
			"task.status.message.taskId":       text(got, "task.id"),
			"task.history.0.taskId":            text(got, "task.id"),
			"task.history.1.role":              "ROLE_AGENT",
		} {
			if s := text(got, path); s != want {
				t.Errorf("%s is %q, want %q", path, s, want)
			}
		}
		read := c.ok("GetTask", object{"id": text(got, "task.id")})
		if a, b := encode(t, got["task"]), encode(t, read); a != b {
			t.Errorf("the answer is\n%s\nGetTask is\n%s", a, b)
		}
	})
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// §3.2.2: a blocking send returns in the interrupted states too.
func TestSendReturnsOnInterruption(t *testing.T) {
	for _, state := range []string{"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"} {
		both(t, nil, func(w *world, c client) {
			t := w.t
			paused := pause(lifecycle.InputRequired, false)
			if state == "TASK_STATE_AUTH_REQUIRED" {
				paused = pause(lifecycle.AuthRequired, false)
			}
			w.onSubmit = func(h lifecycle.Head) error {
				go func() {
					for _, cmd := range []lifecycle.Command{grant(), paused} {
						if err := w.do(string(h.Task), cmd); err != nil {
							t.Error(err)
						}
					}
				}()
				return nil
			}
			got := c.ok("SendMessage", object{"message": message("m-1", "do it")})
			if s := text(got, "task.status.state"); s != state {
				t.Errorf("state %s, want %s", s, state)
			}
			if own(got["task"])["pause"] != 1.0 {
				t.Errorf("metadata %v names no pause", own(got["task"]))
			}
		})
	}
}

// §3.2.2, case 11: the wait ends with its budget, never with the task: the answer
// is the task as it is, and the task goes on (documented deviation).
func TestSendAnswersWithinItsBudget(t *testing.T) {
	short := func(w *world) { w.config.WaitBudget = time.Millisecond }
	both(t, []func(*world){short}, func(w *world, c client) {
		t := w.t
		got := c.ok("SendMessage", object{"message": message("m-1", "do it")})
		if s := text(got, "task.status.state"); s != "TASK_STATE_SUBMITTED" {
			t.Fatalf("state %s", s)
		}
		id := text(got, "task.id")
		w.must(id, grant(), complete())
		if s := text(c.ok("GetTask", object{"id": id}), "status.state"); s != "TASK_STATE_COMPLETED" {
			t.Errorf("state %s afterwards", s)
		}
	})
}

// §3.2.2: returnImmediately returns at once.
func TestSendReturnsImmediately(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		got := c.ok("SendMessage", immediately(message("m-1", "do it")))
		if s := text(got, "task.status.state"); s != "TASK_STATE_SUBMITTED" {
			t.Errorf("state %s", s)
		}
		if n := own(got["task"])["sequence"]; n != 1.0 {
			t.Errorf("sequence %v", n)
		}
		if n, _ := w.told(); n != 1 {
			t.Errorf("told of %d submissions", n)
		}
	})
}

// §3.5.2, case 16: a caller that goes away takes nothing with it.
func TestSendOutlivesItsCaller(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		submitted := make(chan string, 1)
		w.onSubmit = func(h lifecycle.Head) error {
			submitted <- string(h.Task)
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			resp, err := c.http.Do(c.request(ctx, "SendMessage", object{"message": message("m-1", "do it")}))
			if err == nil {
				err = resp.Body.Close()
			}
			gone <- err
		}()
		id := <-submitted
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Fatalf("the caller got %v", err)
		}
		w.must(id, grant(), complete())
		if s := text(c.ok("GetTask", object{"id": id}), "status.state"); s != "TASK_STATE_COMPLETED" {
			t.Errorf("state %s", s)
		}
		if strings.Contains(w.logged(), "ERROR") {
			t.Errorf("a caller that left is no fault: %s", w.logged())
		}
	})
}

// Commit first, then tell: an execution that cannot be started is the sweep's to
// find, and no error.
func TestSendSurvivesAFailingStart(t *testing.T) {
	failing := func(w *world) {
		w.onSubmit = func(lifecycle.Head) error { return errors.New("no capacity") }
	}
	both(t, []func(*world){failing}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		if h := w.head(id); h.State != lifecycle.Submitted || h.DueAt.IsZero() {
			t.Errorf("state %s, due at %s", h.State, h.DueAt)
		}
		if !strings.Contains(w.logged(), "no capacity") {
			t.Errorf("not logged: %s", w.logged())
		}
	})
}

// The agent's own check comes before anything is written.
func TestSendValidates(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		p := c.at("keyed").refused("SendMessage", immediately(message("m-1", "my recipe")), "INVALID_PARAMS")
		if p.message != `recipes have no column "system"` {
			t.Errorf("message %q", p.message)
		}
		picture := object{"messageId": "m-2", "role": "ROLE_USER", "parts": []any{object{"raw": "AAAA", "mediaType": "image/png"}}}
		c.at("keyed").refused("SendMessage", immediately(picture), "CONTENT_TYPE_NOT_SUPPORTED")
		if n := w.count(); n != 0 {
			t.Errorf("%d tasks were written", n)
		}
	})
}

// Large parts go to the blob store; callers get an address that they can fetch.
func TestSendStoresLargeParts(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		large := strings.Repeat("naïve, \"quoted\" ", 5000)
		m := object{"messageId": "m-1", "role": "ROLE_USER", "parts": []any{
			object{"text": "see below"},
			object{"text": large, "mediaType": "text/csv", "filename": "grants.csv"},
			object{"data": object{"rows": []any{large}}},
		}}
		got := c.ok("SendMessage", immediately(m))
		if h := w.head(text(got, "task.id")); h.Seq != 1 {
			t.Errorf("seq %d", h.Seq)
		}
		part := dig(got, "task.history.0.parts.1")
		if text(part, "filename") != "grants.csv" || text(part, "mediaType") != "text/csv" || dig(part, "text") != nil {
			t.Errorf("part %v", part)
		}
		a := c.send(blobRequest(t, c, text(part, "url")))
		if a.status != http.StatusOK || string(a.raw) != large {
			t.Errorf("status %d, %d bytes", a.status, len(a.raw))
		}
		for name, want := range map[string]string{
			"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		data := c.send(blobRequest(t, c, text(got, "task.history.0.parts.2.url")))
		if !strings.HasPrefix(string(data.raw), `{"rows":["na`) {
			t.Errorf("data %.20s", data.raw)
		}
	})
}

func blobRequest(t *testing.T, c client, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = c.head.Clone()
	return r
}

// What is left of a message must fit an entry.
func TestSendLimitsWhatRidesOnAnEntry(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		parts := []any{}
		for range 20 {
			parts = append(parts, object{"text": strings.Repeat("x", 30<<10)})
		}
		p := c.refused("SendMessage", immediately(object{"messageId": "m-1", "role": "ROLE_USER", "parts": parts}), "INVALID_PARAMS")
		if !strings.Contains(p.message, "262144") {
			t.Errorf("message %q", p.message)
		}
		if n := w.count(); n != 0 {
			t.Errorf("%d tasks were written", n)
		}
	})
}
