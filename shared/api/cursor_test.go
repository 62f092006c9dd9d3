package api_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// drafting is a task with two artifacts that grow side by side, one of which is
// begun anew. Entry 1 is the submission, whose event is the message's ID.
func drafting() []lifecycle.Command {
	return []lifecycle.Command{
		grant(),                            // 2
		chunk("draft", "a", false, false),  // 3: draft/1/1
		chunk("notes", "n1", false, false), // 4: notes/1/1
		chunk("draft", "b", true, false),   // 5: draft/1/2
		progress("Once more."),             // 6
		chunk("draft", "A", false, false),  // 7: draft/2/1
		chunk("notes", "n2", true, true),   // 8: notes/1/2
		checkpoint(),                       // 9, which callers do not see
		chunk("draft", "B", true, false),   // 10: draft/2/2
		chunk("draft", "C", true, true),    // 11: draft/2/3
		progress("Nearly there."),          // 12
	}
}

// replayed are the ids that a stream brings behind a cursor: first those that the
// task at its beginning contains, marked as replay, ascending, each once. Then the
// task is completed, which must be all that follows.
func replayed(w *world, c client, operation string, params object, id string) []string {
	t := w.t
	t.Helper()
	s := c.open(operation, params)
	first := s.must()
	if first.id != "" || first.body["task"] == nil {
		t.Fatalf("a resumed stream begins with %q %v", first.id, first.body)
	}
	if h := w.head(id); !h.Terminal() {
		w.must(id, complete())
	}
	upTo, _ := own(first.body["task"])["sequence"].(float64)
	var ids []string
	last := 0.0
	for _, e := range s.rest() {
		seq, _ := own(e.update())["sequence"].(float64)
		replay := own(e.update())["replay"] == true
		if fmt.Sprint(seq) != e.id || seq <= last || replay != (seq <= upTo) {
			t.Errorf("id %s after %v, sequence %v, replay %t, behind a task at %v", e.id, last, seq, replay, upTo)
		}
		if last = seq; replay {
			ids = append(ids, e.id)
		} else if e.state() != "TASK_STATE_COMPLETED" {
			t.Errorf("behind the replay comes %v", e.body)
		}
	}
	return ids
}

// drafted is a task as far as drafting has brought it, and the ID of its sixth event.
func (w *world) drafted(c client) (id, sixth string) {
	w.t.Helper()
	id = c.submit(message("m-1", "do it"))
	w.must(id, drafting()...)
	entries, err := w.ledger.Entries(w.t.Context(), w.ref(id), 5, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return id, entries[0].EventID
}

// A client presents an event and chunks: everything behind the one is sent, and of
// the artifacts that it names what is behind the others; in the order of the
// ledger, and each once.
func TestCursorsOfBothKinds(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		for _, test := range []struct {
			says object
			want []string
		}{
			{object{"after": "entry 6"}, []string{"7", "8", "10", "11", "12"}},
			{object{"after": "m-1"}, []string{"2", "3", "4", "5", "6", "7", "8", "10", "11", "12"}},
			{object{"after": 12, "artifacts": object{"draft": 0}}, []string{"7", "10", "11"}},
			{object{"artifacts": object{"draft": 0}}, []string{"7", "10", "11"}},
			{object{"artifacts": []any{"draft/0"}}, []string{"7", "10", "11"}},
			{object{"artifacts": []any{"draft/1", "notes/1"}}, []string{"8", "10", "11"}},
			{object{"artifacts": object{"draft": 3, "notes": 2}}, nil},
			{object{"artifacts": object{"draft": object{"revision": 1, "number": 1}}}, []string{"5", "7", "10", "11"}},
			{object{"artifacts": object{"draft": object{"revision": 2, "number": 2}}}, []string{"11"}},
			{object{"after": "entry 6", "artifacts": []any{"draft/0"}}, []string{"3", "5", "7", "8", "10", "11", "12"}},
			// At entry 6 the artifact was in its first revision: of the second the client
			// has nothing, however far it was.
			{object{"after": "entry 6", "artifacts": object{"draft": 2}}, []string{"7", "8", "10", "11", "12"}},
			{object{"after": "entry 6", "artifacts": object{"draft": 1}}, []string{"5", "7", "8", "10", "11", "12"}},
			{object{"after": "8", "artifacts": object{"draft": 1}}, []string{"10", "11", "12"}},
			// Ahead in an artifact that was not there at the event.
			{object{"after": "m-1", "artifacts": object{"draft": 3, "notes": 1}}, []string{"2", "6", "8", "12"}},
			{object{"after": 2, "artifacts": object{"draft": 2}}, []string{"4", "6", "7", "8", "10", "11", "12"}},
			{object{"after": 11, "artifacts": object{"still-to-come": 0}}, []string{"12"}},
		} {
			id, sixth := w.drafted(c)
			if test.says["after"] == "entry 6" {
				test.says["after"] = sixth
			}
			params := object{"id": id, "metadata": extension(test.says)}
			if got := replayed(w, c, "SubscribeToTask", params, id); !slices.Equal(got, test.want) {
				t.Errorf("%v: %v, want %v", test.says, got, test.want)
			}
		}
		// No artifacts are no cursor.
		id, _ := w.drafted(c)
		s := c.open("SubscribeToTask", object{"id": id, "metadata": extension(object{"artifacts": object{}})})
		if first := s.must(); first.id != "12" {
			t.Errorf("without a cursor: first event %q", first.id)
		}
		s.cut()
		for _, says := range []object{
			{"after": "unknown"}, {"after": ""}, {"after": true}, {"after": []any{}},
			{"artifacts": "draft/0"}, {"artifacts": []any{"draft"}}, {"artifacts": []any{"/1"}}, {"artifacts": []any{"draft/x"}}, {"artifacts": []any{"draft/-1"}}, {"artifacts": []any{1}},
			{"artifacts": []any{"draft/1", "draft/2"}}, {"artifacts": object{"draft": -1}}, {"artifacts": object{"draft": 1.5}}, {"artifacts": object{"draft": "1"}}, {"artifacts": object{"": 1}},
			{"artifacts": object{"draft": 4}}, {"artifacts": object{"none": 1}}, {"after": "8", "artifacts": object{"notes": 3}},
			{"artifacts": object{"draft": object{"revision": 3, "number": 0}}}, {"artifacts": object{"draft": object{"revision": 1, "number": 3}}},
			{"artifacts": object{"draft": object{"revision": 0, "number": 0}}}, {"artifacts": object{"draft": object{"number": 1}}}, {"artifacts": object{"draft": object{"revision": 1}}},
		} {
			c.refused("SubscribeToTask", object{"id": id, "metadata": extension(says)}, "INVALID_PARAMS")
		}
		// The header is newer than the metadata's event; chunks are not in it.
		got := replayed(w, c.with("Last-Event-ID", "11"), "SubscribeToTask", object{"id": id, "metadata": extension(object{"after": "m-1", "artifacts": object{"notes": 0}})}, id)
		if !slices.Equal(got, []string{"4", "8", "12"}) {
			t.Errorf("with a header: %v", got)
		}
	})
}

// Cut behind every chunk and resumed there, by its artifact, revision and number
// alone, at every moment of the task: exactly what is missing of the artifact, then
// all that follows.
func TestResumeAtEveryChunk(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		chunks := []struct {
			artifact         string
			revision, number int
			seq              int
		}{{"draft", 1, 1, 3}, {"notes", 1, 1, 4}, {"draft", 1, 2, 5}, {"draft", 2, 1, 7}, {"notes", 1, 2, 8}, {"draft", 2, 2, 10}, {"draft", 2, 3, 11}}
		cuts := 0
		for done := range len(drafting()) {
			for cut, at := range chunks {
				if at.seq > done+2 {
					break
				}
				id := c.submit(message("m-1", "do it"))
				w.must(id, drafting()[:done+1]...)
				var missing []string
				for _, k := range chunks[cut+1:] {
					if k.artifact == at.artifact && k.seq <= done+2 {
						missing = append(missing, fmt.Sprint(k.seq))
					}
				}
				// A revision that was left open would keep the task from completing.
				w.must(id, chunk("draft", "the end", false, true), chunk("notes", "the end", false, true))
				end := map[string]string{"draft": fmt.Sprint(done + 3), "notes": fmt.Sprint(done + 4)}
				missing = append(missing, end[at.artifact])
				params := object{"id": id, "metadata": extension(object{"artifacts": object{at.artifact: object{"revision": at.revision, "number": at.number}}})}
				if got := replayed(w, c, "SubscribeToTask", params, id); !slices.Equal(got, missing) {
					t.Errorf("after %d entries, behind %v: %v, want %v", done+2, at, got, missing)
				}
				cuts++
			}
		}
		t.Logf("%d cuts", cuts)
	})
}

// A stream that was resumed by chunks goes on with everything.
func TestChunkCursorGoesOn(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id, _ := w.drafted(c)
		s := c.open("SubscribeToTask", object{"id": id, "metadata": extension(object{"artifacts": []any{"draft/3"}})})
		s.must()
		w.must(id, chunk("notes", "again", false, true), chunk("draft", "last", false, true), progress("So far."), complete())
		if got := idsOf(s.rest()); !slices.Equal(got, []string{"13", "14", "15", "16"}) {
			t.Errorf("ids %v", got)
		}
	})
}

// A repeated submission replays a finished task behind both kinds of cursors, and a
// reply's cursor is held against the task before the reply is committed.
func TestCursorsOfStreamingMessages(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		c = c.at("keyed")
		id := c.submit(message("m-1", "do it"))
		w.must(id, drafting()...)
		params := object{"message": message("m-1", "do it"), "metadata": extension(object{"after": 11, "artifacts": []any{"notes/1"}})}
		if got := replayed(w, c, "SendStreamingMessage", params, id); !slices.Equal(got, []string{"8", "12"}) {
			t.Errorf("while it works: %v", got)
		}
		if got := replayed(w, c, "SendStreamingMessage", params, id); !slices.Equal(got, []string{"8", "12", "13"}) {
			t.Errorf("finished: %v", got)
		}
		c.refused("SendStreamingMessage", with(params, object{"metadata": extension(object{"after": "unknown"})}), "INVALID_PARAMS")

		asked := c.submit(message("m-2", "ask me"))
		w.must(asked, grant(), chunk("draft", "a", false, true), pause(lifecycle.InputRequired, false))
		for _, bad := range []object{{"after": "unknown"}, {"artifacts": object{"draft": 2}}} {
			reply := with(replying(asked, "m-3", "yes"), object{"metadata": extension(bad)})
			c.refused("SendStreamingMessage", object{"message": reply}, "INVALID_PARAMS")
		}
		if h := w.head(asked); h.State != lifecycle.InputRequired || h.Seq != 4 {
			t.Errorf("a reply with a bad cursor was committed: %s at %d", h.State, h.Seq)
		}
		reply := with(replying(asked, "m-3", "yes"), object{"metadata": extension(object{"after": "m-2", "artifacts": object{"draft": 1}})})
		answered := c.open("SendStreamingMessage", object{"message": reply})
		answered.must()
		w.must(asked, grant(), complete())
		if got := idsOf(answered.rest()); !slices.Equal(got, []string{"2", "4", "5", "6"}) {
			t.Errorf("a reply: %v", got)
		}
		// A cursor of another life means nothing to a new task.
		fresh := c.open("SendStreamingMessage", object{"message": message("m-9", "new"), "metadata": extension(object{"after": "m-2", "artifacts": object{"draft": 9}})})
		if first := fresh.must(); first.id != "1" {
			t.Errorf("a new task: %q", first.id)
		}
	})
}
