package api_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

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

// entry is a cursor like any other.
func TestCursors(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, story()[:4]...)
		for _, cursor := range []string{"x", "-1", "1.5", "6", "99999999999999999999", "0x1", "1,2"} {
			c.with("Last-Event-ID", cursor).refused("SubscribeToTask", object{"id": id}, "INVALID_PARAMS")
		}
		if p := c.with("Last-Event-ID", "6").refused("SubscribeToTask", object{"id": id}, "INVALID_PARAMS"); !strings.Contains(p.message, "last sequence is 5: leave it out to start anew") {
			t.Errorf("beyond the end: %q", p.message)
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
