package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// story is a whole task, invisible entries included: entry 4 is a checkpoint that
// callers do not see.
func story() []lifecycle.Command {
	return []lifecycle.Command{
		grant(),                                  // 2
		progress("Planning."),                    // 3
		checkpoint(),                             // 4
		chunk("report", "All", false, true),      // 5
		chunk("report", "New", false, false),     // 6: a new revision
		chunk("report", " is well.", true, true), // 7
		progress("Nearly there."),                // 8
		complete(),                               // 9
	}
}

// ids that callers see of the story, the submission included.
var visible = []string{"1", "2", "3", "5", "6", "7", "8", "9"}

func idsOf(events []event) []string {
	var ids []string
	for _, e := range events {
		ids = append(ids, e.id)
	}
	return ids
}

// §3.1.2, §9.4.2, §11.7: the task first, then every update under its sequence, up
// to the terminal one.
func TestStreamNewTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		if got := s.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control %q", got)
		}
		first := s.must()
		if first.id != "1" || first.state() != "TASK_STATE_SUBMITTED" || text(first.body, "task.history.0.messageId") != "m-1" {
			t.Fatalf("first event %q %v", first.id, first.body)
		}
		id := text(first.body, "task.id")
		w.must(id, story()...)
		rest := s.rest()
		if got := idsOf(rest); !slices.Equal(got, visible[1:]) {
			t.Errorf("ids %v, want %v", got, visible[1:])
		}
		for _, e := range rest {
			if len(e.body) != 1 || text(e.update(), "taskId") != id || text(e.update(), "contextId") == "" {
				t.Errorf("update %v", e.body)
			}
			if n, replay := own(e.update())["sequence"], own(e.update())["replay"]; fmt.Sprint(n) != e.id || replay != nil {
				t.Errorf("update %s: sequence %v, replay %v", e.id, n, replay)
			}
		}
		if last := rest[len(rest)-1]; last.state() != "TASK_STATE_COMPLETED" {
			t.Errorf("the last update is %v", last.body)
		}
		w.closed(t, api.Connection{Kind: "SendStreamingMessage", To: 9, Reason: api.ClosedTerminal})
	})
}

// closed holds the last connection record against what is wanted. The handler
// writes it before the stream's end is seen.
func (w *world) closed(t *testing.T, want api.Connection) {
	t.Helper()
	w.server.CloseClientConnections()
	w.server.Close() // waits for the handlers
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.connections)
	if n == 0 || n%2 != 0 {
		t.Fatalf("%d connection records", n)
	}
	opened, last := w.connections[n-2], w.connections[n-1]
	if opened.Event != "open" || last.Event != "close" || opened.ID != last.ID || opened.ID == "" {
		t.Errorf("records %+v, %+v", opened, last)
	}
	if opened.Tenant != tenant || last.Tenant != tenant || opened.Task == "" {
		t.Errorf("whose are the records %+v, %+v", opened, last)
	}
	if last.Kind != want.Kind || last.From != want.From || last.To != want.To || last.Reason != want.Reason {
		t.Errorf("record %+v, want %+v", last, want)
	}
}

// §3.1.6: a subscription begins with the task as it is now.
func TestSubscribeBeginsWithTheTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, story()[:4]...)
		s := c.open("SubscribeToTask", object{"id": id})
		first := s.must()
		if first.id != "5" || text(first.body, "task.artifacts.0.parts.0.text") != "All" {
			t.Fatalf("first event %q %v", first.id, first.body)
		}
		if a, b := encode(t, first.body["task"]), encode(t, c.ok("GetTask", object{"id": id})); a != b {
			t.Errorf("the first event is\n%s\nGetTask is\n%s", a, b)
		}
		w.must(id, story()[4:]...)
		if got := idsOf(s.rest()); !slices.Equal(got, []string{"6", "7", "8", "9"}) {
			t.Errorf("ids %v", got)
		}
	})
}

// Cases 33 and 43: cut at every update and resumed there, a stream is the same as
// Case 43: what a client folds from the stream equals GetTask.
func TestFoldEqualsGetTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		first := s.must()
		id := text(first.body, "task.id")
		w.must(id, story()...)
		var artifacts []any
		var status any
		for _, e := range s.rest() {
			if u, ok := e.body["statusUpdate"].(object); ok {
				status = u["status"]
				continue
			}
			piece, _ := dig(e.body, "artifactUpdate.artifact").(object)
			if dig(e.body, "artifactUpdate.append") != true {
				artifacts = []any{piece}
				continue
			}
			last, _ := artifacts[len(artifacts)-1].(object)
			parts, _ := last["parts"].([]any)
			more, _ := piece["parts"].([]any)
			last["parts"] = append(parts, more...)
		}
		got := c.ok("GetTask", object{"id": id})
		if a, b := encode(t, status), encode(t, got["status"]); a != b {
			t.Errorf("status\n%s\nGetTask\n%s", a, b)
		}
		if a, b := encode(t, artifacts), encode(t, got["artifacts"]); a != b {
			t.Errorf("artifacts\n%s\nGetTask\n%s", a, b)
		}
	})
}

// §3.5.2, case 40: three subscribers, one of which goes away; the others get the
// same updates in the same order.
func TestThreeSubscribers(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		var streams []*stream
		for range 3 {
			s := c.open("SubscribeToTask", object{"id": id})
			s.must()
			streams = append(streams, s)
		}
		w.must(id, story()[:2]...)
		for _, s := range streams {
			s.must()
			s.must()
		}
		streams[1].cut()
		w.must(id, story()[2:]...)
		a, b := streams[0].rest(), streams[2].rest()
		if encode(t, bodies(a)) != encode(t, bodies(b)) || !slices.Equal(idsOf(a), visible[3:]) {
			t.Errorf("%v and %v", idsOf(a), idsOf(b))
		}
	})
}

func bodies(events []event) []object {
	var list []object
	for _, e := range events {
		list = append(list, e.body)
	}
	return list
}

// §3.5.2, case 16: dropping the stream leaves the task alone.
func TestCutStreamLeavesTheTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		id := text(s.must().body, "task.id")
		s.cut()
		w.must(id, story()...)
		if s := text(c.ok("GetTask", object{"id": id}), "status.state"); s != "TASK_STATE_COMPLETED" {
			t.Errorf("state %s", s)
		}
	})
}

// §11.7: on input-required a stream ends; a reply's stream goes on.
func TestStreamEndsOnInputRequired(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		id := text(s.must().body, "task.id")
		w.must(id, grant(), pause(lifecycle.InputRequired, false))
		if rest := s.rest(); len(rest) != 2 || rest[1].state() != "TASK_STATE_INPUT_REQUIRED" {
			t.Fatalf("events %v", bodies(rest))
		}
		// Who resumes it later sees the same end as one who stayed. Who subscribes to a
		// task that waits already wants to see what comes (§3.1.6), until it waits again.
		if again := c.with("Last-Event-ID", "2").open("SubscribeToTask", object{"id": id}).rest(); len(again) != 2 || again[1].state() != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("resumed: %v", bodies(again))
		}
		subscriber := c.open("SubscribeToTask", object{"id": id})
		if e := subscriber.must(); e.state() != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("subscribed: %v", e.body)
		}
		answer := c.open("SendStreamingMessage", object{"message": with(message("m-2", "yes"), object{"taskId": id})})
		if first := answer.must(); first.id != "4" || first.state() != "TASK_STATE_WORKING" {
			t.Errorf("first event %q %v", first.id, first.body)
		}
		w.must(id, grant(), complete())
		c.with("Last-Event-ID", "99").refused("SendStreamingMessage", object{"message": replying(id, "m-3", "more")}, "INVALID_PARAMS")
		if rest := answer.rest(); len(rest) != 1 || rest[0].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("events %v", bodies(rest))
		}
		if rest := subscriber.rest(); len(rest) != 2 || rest[0].id != "4" || rest[1].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("the subscriber's events %v", bodies(rest))
		}
	})
}

// A subscriber that found the task waiting sees it wait again, and that ends its
// stream.
func TestSubscriberSeesTheNextQuestion(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant(), pause(lifecycle.InputRequired, false))
		s := c.open("SubscribeToTask", object{"id": id})
		s.must()
		c.ok("SendMessage", object{"message": replying(id, "m-2", "yes"), "configuration": object{"returnImmediately": true}})
		w.must(id, grant(), pause(lifecycle.InputRequired, false))
		if rest := s.rest(); len(rest) != 2 || rest[0].state() != "TASK_STATE_WORKING" || rest[1].state() != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("events %v", bodies(rest))
		}
	})
}

// A next-line character in a text would cut the event for clients that split lines
// at all that Unicode calls a line break: it is sent escaped.
func TestStreamEscapesNextLine(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		const said = "before\u0085after\u2028end"
		id := c.submit(message("m-1", "do it"))
		s := c.open("SubscribeToTask", object{"id": id})
		s.must()
		w.must(id, grant(), progress(said), complete())
		rest := s.rest()
		if len(rest) != 3 || text(rest[1].body, "statusUpdate.status.message.parts.0.text") != said {
			t.Errorf("events %v", bodies(rest))
		}
		for _, e := range rest {
			if strings.ContainsAny(e.line, "\u0085\u2028\u2029") {
				t.Errorf("a raw line break in %q", e.line)
			}
		}
	})
}

// §7.6.1: on auth-required a stream stays, for the receipt may come another way.
func TestStreamStaysOnAuthRequired(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		id := text(s.must().body, "task.id")
		w.must(id, grant(), pause(lifecycle.AuthRequired, false))
		s.must()
		if e := s.must(); e.state() != "TASK_STATE_AUTH_REQUIRED" {
			t.Fatalf("event %v", e.body)
		}
		w.must(id, lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 1, Issuer: "i", KeyID: "k", JTI: "j", Digest: "d"}}, grant(), complete())
		if rest := s.rest(); len(rest) != 2 || rest[1].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("events %v", bodies(rest))
		}
	})
}

// §3.1.6, case 35: an error that precedes a stream is a plain answer.
func TestSubscribeErrorsArePlain(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant(), complete())
		for task, want := range map[string]string{id: "UNSUPPORTED_OPERATION", "0198-none": "TASK_NOT_FOUND"} {
			a := c.call("SubscribeToTask", object{"id": task})
			if a.err == nil || a.err.reason != want || !strings.Contains(a.header.Get("Content-Type"), "json") {
				t.Errorf("%s: %s %.300s, want %s", task, a.header.Get("Content-Type"), a.raw, want)
			}
			if c.rpc && a.status != http.StatusOK {
				t.Errorf("%s: status %d", task, a.status)
			}
		}
		// Late replay is on the ledger's own address.
		late := c.with("Last-Event-ID", "2").call("SubscribeToTask", object{"id": id})
		if late.err == nil || !strings.Contains(late.err.message, "/tasks/"+id+"/ledger") {
			t.Errorf("%.300s", late.raw)
		}
	})
}

// A cursor that is none, or that lies beyond the end, is refused; an invisible
// A repeated streaming submission streams the task that there is; of a finished
