package api_test

import (
	"regexp"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.2.4, case 63: unset, 0, 1 and 1000 on Get, Send and List.
func TestHistoryLength(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		c.submit(replying(id, "m-2", "yes")) // history: do it, May I?, yes
		for _, tt := range []struct {
			length            any
			get, send, listed int
		}{{nil, 3, 3, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {1000, 3, 3, 3}} {
			params, configuration := object{"id": id}, object{"returnImmediately": true}
			list := object{}
			if tt.length != nil {
				params["historyLength"], configuration["historyLength"], list["historyLength"] = tt.length, tt.length, tt.length
			}
			send := object{"message": replying(id, "m-2", "yes"), "configuration": configuration} // a repeated one
			for _, r := range []struct {
				what string
				task any
				want int
			}{
				{"GetTask", c.ok("GetTask", params), tt.get},
				{"SendMessage", dig(c.ok("SendMessage", send), "task"), tt.send},
				{"ListTasks", dig(c.ok("ListTasks", list), "tasks.0"), tt.listed},
			} {
				history, there := dig(r.task, "history").([]any)
				if len(history) != r.want || there != (r.want > 0) {
					t.Errorf("historyLength %v, %s: %d messages (there: %v), want %d", tt.length, r.what, len(history), there, r.want)
				}
				if r.want == 1 && text(history[0], "messageId") != "m-2" {
					t.Errorf("%s: not the most recent message", r.what)
				}
			}
		}
		for _, wrong := range []any{-1, "ten", 1.5, true} {
			if c.rpc || wrong != "ten" {
				c.refused("GetTask", object{"id": id, "historyLength": wrong}, "INVALID_PARAMS")
				c.refused("ListTasks", object{"historyLength": wrong}, "INVALID_PARAMS")
			}
			c.refused("SendMessage", object{"message": message("m-9", "x"), "configuration": object{"historyLength": wrong}}, "INVALID_PARAMS")
		}
	})
}

// §3.1.3: unknown, expired and foreign tasks are one and the same: not found.
func TestTaskNotFound(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		others := map[string]client{
			"another tenant": c.with("Authorization", "Bearer elsewhere/me"),
			"another agent":  c.at("keyed"),
		}
		same := func(what string, c client, id string) {
			t.Helper()
			var want *problem
			for _, operation := range []string{"GetTask", "CancelTask", "SubscribeToTask", "SendMessage"} {
				params := object{"id": id}
				if operation == "SendMessage" {
					params = object{"message": replying(id, "m-2", "hello")}
				}
				p := c.refused(operation, params, "TASK_NOT_FOUND")
				if code := map[bool]int{true: -32001, false: 404}[c.rpc]; p.code != code || p.meta["taskId"] != id {
					t.Errorf("%s, %s: %+v", what, operation, p)
				}
				if want == nil {
					want = p
				}
				if p.message != want.message {
					t.Errorf("%s, %s: %q differs from %q", what, operation, p.message, want.message)
				}
			}
		}
		for what, other := range others {
			same(what, other, id)
		}
		same("never there", c, "0198-none")
		w.must(id, grant(), complete())
		w.clock.Advance(lifecycle.DefaultRetention)
		same("expired", c, id)
		if list := c.ok("ListTasks", object{}); list["totalSize"] != 0.0 {
			t.Errorf("expired, but listed: %v", list)
		}
		for _, path := range []string{"/ledger", "/effects", "/blobs/" + string(lifecycle.DigestBytes(nil))} {
			a := c.send(c.raw(t.Context(), "GET", "/tasks/"+id+path, ""))
			if a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
				t.Errorf("%s: %.200s", path, a.raw)
			}
		}
	})
}

// §5.6.1: timestamps are in UTC with milliseconds, always three digits.
func TestTimestamps(t *testing.T) {
	form := regexp.MustCompile(`^2026-03-01T10:00:00\.000Z$`) // the test's clock stands in another zone
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		first := s.must()
		id := text(first.body, "task.id")
		w.must(id, grant())
		for _, stamp := range []string{
			text(first.body, "task.status.timestamp"),
			text(s.must().body, "statusUpdate.status.timestamp"),
			text(c.ok("GetTask", object{"id": id}), "status.timestamp"),
			text(c.ok("ListTasks", object{}), "tasks.0.status.timestamp"),
		} {
			if !form.MatchString(stamp) {
				t.Errorf("timestamp %q", stamp)
			}
		}
	})
}

// §3.1.3: non-ASCII text, null members and every kind of part survive.
func TestPartsSurvive(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		m := object{
			"messageId": "m-1", "role": "ROLE_USER", "contextId": nil, "metadata": object{"né": []any{nil, 1.5, "✓"}},
			"extensions": []any{"urn:x"}, "referenceTaskIds": []any{"t-0"},
			"parts": []any{
				object{"text": "Grüße, \u4e16\u754c \u2028 <&>"}, object{"text": ""},
				object{"raw": "AP8=", "mediaType": "application/octet-stream"}, object{"raw": ""},
				object{"data": object{"a": nil, "b": []any{nil}}}, object{"data": false}, object{"data": 0.0}, object{"data": []any{}},
				object{"url": "https://example.com/x", "filename": "x", "metadata": object{"k": "v"}},
			},
		}
		got := c.ok("GetTask", object{"id": c.submit(m)})
		if a, b := encode(t, dig(got, "history.0.parts")), encode(t, m["parts"]); a != b {
			t.Errorf("parts\n%s\nwant\n%s", a, b)
		}
		for _, field := range []string{"metadata", "extensions", "referenceTaskIds"} {
			if a, b := encode(t, dig(got, "history.0."+field)), encode(t, m[field]); a != b {
				t.Errorf("%s %s, want %s", field, a, b)
			}
		}
	})
}

// The extension: a task that has ended, and its last update, carry the receipt, which
// is the terminal entry's: sequence, chain and manifest. No other update does.
func TestReceipt(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		s := c.open("SendStreamingMessage", object{"message": message("m-1", "do it")})
		id := text(s.must().body, "task.id")
		w.must(id, story()...)
		events := s.rest()
		last := w.head(id)
		entries, err := w.ledger.Entries(t.Context(), w.ref(id), last.Seq-1, 1)
		if err != nil {
			t.Fatal(err)
		}
		ending, err := entries[0].Event()
		if err != nil {
			t.Fatal(err)
		}
		want := encode(t, object{"sequence": last.Seq, "digest": last.Chain, "manifest": ending.Ending.ManifestDigest})
		of := func(v any) string {
			metadata, _ := dig(v, "metadata").(object)
			own, _ := metadata[lifecycle.ExtensionURI].(object)
			return encode(t, own["receipt"])
		}
		for i, e := range events {
			if got := of(e.update()); (i == len(events)-1) != (got == want) {
				t.Errorf("update %s of %d has the receipt %s", e.id, len(events), got)
			}
		}
		if got := of(c.ok("GetTask", object{"id": id})); got != want {
			t.Errorf("the task has the receipt %s, want %s", got, want)
		}
	})
}
