package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
// one that was never cut: each visible id once, ascending, with the same content.
func TestResumeAtEveryID(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		whole := c.with("Last-Event-ID", "0").open("SubscribeToTask", object{"id": id})
		if first := whole.must(); first.id != "" || first.body["task"] == nil {
			t.Fatalf("the task of a resumed stream has the id %q", first.id)
		}
		want := map[string]string{}
		seen := []event{whole.must()} // the submission, as replay
		want["1"] = content(t, seen[0])
		for i, cmd := range story() {
			// Resume behind every id so far, before and after the next commit.
			cursors := idsOf(seen)
			streams := make([]*stream, 0, len(cursors))
			for _, cursor := range cursors {
				s := c.with("Last-Event-ID", cursor).open("SubscribeToTask", object{"id": id})
				if first := s.must(); first.id != "" || own(first.body["task"])["sequence"] == nil {
					t.Fatalf("resumed behind %s: first event %q %v", cursor, first.id, first.body)
				}
				streams = append(streams, s)
			}
			w.must(id, cmd)
			if i != 2 { // what callers see of the story
				e := whole.must()
				want[e.id] = content(t, e)
				seen = append(seen, e)
			}
			for k, s := range streams {
				for j := k + 1; j < len(seen); j++ {
					e := s.must()
					replay := own(e.update())["replay"] == true
					if e.id != seen[j].id || content(t, e) != want[e.id] {
						t.Errorf("resumed behind %s: got %s %s, want %s %s", cursors[k], e.id, content(t, e), seen[j].id, want[seen[j].id])
					}
					if replay != (j < len(cursors)) {
						t.Errorf("resumed behind %s: replay of %s is %v", cursors[k], e.id, replay)
					}
				}
				s.cut()
			}
		}
		if rest := whole.rest(); len(rest) != 0 {
			t.Errorf("after the end: %v", rest)
		}
		if got := idsOf(seen); !slices.Equal(got, visible) {
			t.Errorf("ids %v, want %v", got, visible)
		}
	})
}

// content is what an update says, without the mark of a replay.
func content(t *testing.T, e event) string {
	t.Helper()
	delete(own(e.update()), "replay")
	return encode(t, e.body)
}

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
		// Who reattaches later sees the same end as one who stayed.
		if again := c.open("SubscribeToTask", object{"id": id}).rest(); len(again) != 1 || again[0].state() != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("reattached: %v", bodies(again))
		}
		answer := c.open("SendStreamingMessage", object{"message": with(message("m-2", "yes"), object{"taskId": id})})
		if first := answer.must(); first.id != "4" || first.state() != "TASK_STATE_WORKING" {
			t.Errorf("first event %q %v", first.id, first.body)
		}
		w.must(id, grant(), complete())
		if rest := answer.rest(); len(rest) != 1 || rest[0].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("events %v", bodies(rest))
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
// entry is a cursor like any other.
func TestCursors(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, story()[:4]...)
		for _, cursor := range []string{"x", "-1", "1.5", "6", "99999999999999999999", "0x1", "1,2"} {
			c.with("Last-Event-ID", cursor).refused("SubscribeToTask", object{"id": id}, "INVALID_PARAMS")
		}
		for cursor, want := range map[string]int{"4": 1, "5": 0, "3": 1, "0": 4} {
			s := c.with("Last-Event-ID", cursor).open("SubscribeToTask", object{"id": id})
			s.must()
			for range want {
				if e := s.must(); own(e.update())["replay"] != true {
					t.Errorf("behind %s: %v", cursor, e.body)
				}
			}
			s.cut()
		}
		// The extension's metadata says the same; the header is newer.
		for _, after := range []any{3, "3"} {
			params := object{"id": id, "metadata": extension(object{"after": after})}
			s := c.open("SubscribeToTask", params)
			if first, second := s.must(), s.must(); first.id != "" || second.id != "5" {
				t.Errorf("after %v: %q, %q", after, first.id, second.id)
			}
			s.cut()
			s = c.with("Last-Event-ID", "2").open("SubscribeToTask", params)
			s.must()
			if second := s.must(); second.id != "3" {
				t.Errorf("with a header: %q", second.id)
			}
			s.cut()
		}
		for _, after := range []any{-1, 1.5, "x", true, 1e30} {
			c.refused("SubscribeToTask", object{"id": id, "metadata": extension(object{"after": after})}, "INVALID_PARAMS")
		}
	})
}

// A repeated streaming submission streams the task that there is; of a finished
// one the task alone, or what is missing of it.
func TestStreamRepeatedSubmission(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		c = c.at("keyed")
		params := object{"message": message("m-1", "do it")}
		s := c.open("SendStreamingMessage", params)
		id := text(s.must().body, "task.id")
		w.must(id, story()[:2]...)
		again := c.open("SendStreamingMessage", params)
		if first := again.must(); first.id != "3" || text(first.body, "task.id") != id {
			t.Errorf("first event %q %v", first.id, first.body)
		}
		w.must(id, story()[2:]...)
		if got := idsOf(again.rest()); !slices.Equal(got, visible[3:]) {
			t.Errorf("ids %v", got)
		}
		if done := c.open("SendStreamingMessage", params).rest(); len(done) != 1 || done[0].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("finished: %v", bodies(done))
		}
		resumed := c.with("Last-Event-ID", "7").open("SendStreamingMessage", params).rest()
		if got := idsOf(resumed); !slices.Equal(got, []string{"", "8", "9"}) {
			t.Errorf("resumed: %v", got)
		}
		if n := w.count(); n != 1 {
			t.Errorf("%d tasks", n)
		}
	})
}

// A cursor of another life means nothing to a new task.
func TestStreamNewTaskIgnoresCursor(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.with("Last-Event-ID", "7").open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		if first := s.must(); first.id != "1" {
			t.Errorf("first event %q", first.id)
		}
		c.with("Last-Event-ID", "seven").refused("SendStreamingMessage", object{"message": message("m-2", "do it")}, "INVALID_PARAMS")
		if n := w.count(); n != 1 {
			t.Errorf("%d tasks: a bad cursor writes nothing", n)
		}
	})
}

// A long replay comes in bursts, complete and in order.
func TestLongReplay(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		const updates = 100
		for range updates {
			w.must(id, progress(strings.Repeat("long ", 500)))
		}
		s := c.with("Last-Event-ID", "2").open("SubscribeToTask", object{"id": id})
		s.must()
		for i := range updates {
			if e := s.must(); e.id != strconv.Itoa(i+3) {
				t.Fatalf("id %s, want %d", e.id, i+3)
			}
		}
	})
}
