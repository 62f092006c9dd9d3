package api_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.4: multi-turn conversations.

// paused submits a task that waits for input.
func (w *world) paused(c client, named bool) string {
	w.t.Helper()
	id := c.submit(message("m-1", "do it"))
	w.must(id, grant(), pause(lifecycle.InputRequired, named))
	return id
}

func replying(id, messageID, words string) object {
	return with(message(messageID, words), object{"taskId": id})
}

// §3.4.3: a reply goes on with the task, and the parked execution is told.
func TestReply(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		got := c.ok("SendMessage", immediately(replying(id, "m-2", "yes")))
		if text(got, "task.id") != id || text(got, "task.status.state") != "TASK_STATE_WORKING" {
			t.Errorf("%v", got)
		}
		var history []string
		for i := range 3 {
			history = append(history, text(got, "task.history."+string(rune('0'+i))+".parts.0.text"))
		}
		if want := []string{"do it", "May I?", "yes"}; !slices.Equal(history, want) {
			t.Errorf("history %v, want %v", history, want)
		}
		if _, answers := w.told(); !slices.Equal(answers, []int{1}) {
			t.Errorf("told of %v", answers)
		}
	})
}

// The same reply again is the same reply, also when the task has moved on; another
// one under its messageId is an incident.
func TestRepeatedReply(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		reply := replying(id, "m-2", "yes")
		c.submit(reply)
		c.submit(reply)
		w.must(id, grant(), complete())
		if got := c.ok("SendMessage", object{"message": reply}); text(got, "task.status.state") != "TASK_STATE_COMPLETED" {
			t.Errorf("%v", got)
		}
		p := c.refused("SendMessage", object{"message": replying(id, "m-2", "no")}, "MESSAGE_ID_CONFLICT")
		if want := map[bool]int{true: -32602, false: 409}[c.rpc]; p.code != want {
			t.Errorf("code %d", p.code)
		}
		counts, err := w.ledger.Counts(t.Context(), w.ref(id))
		if err != nil || counts != (ledger.Counts{Rejections: 1, Incidents: 1, Hits: 2}) {
			t.Errorf("%+v, %v", counts, err)
		}
		if _, answers := w.told(); !slices.Equal(answers, []int{1}) {
			t.Errorf("told of %v", answers)
		}
		// Another caller's messageIds are its own: its message is a new one.
		c.with("Authorization", "Bearer local/other").refused("SendMessage", object{"message": reply}, "UNSUPPORTED_OPERATION")
	})
}

// Many send the same reply at once: all get the same answer, one is accepted.
func TestConcurrentReplies(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		const callers = 16
		answers := make([]answer, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { answers[i] = c.call("SendMessage", immediately(replying(id, "m-2", "yes"))) })
		}
		wg.Wait()
		for _, a := range answers {
			if text(a.result, "task.id") != id {
				t.Errorf("%.300s", a.raw)
			}
		}
		if h := w.head(id); h.Seq != 4 {
			t.Errorf("seq %d", h.Seq)
		}
	})
}

// Cases 5 and 6: a message to a task that waits for none is refused; nothing runs.
func TestMessageWhileWorking(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		c.refused("SendMessage", object{"message": replying(id, "m-2", "and that")}, "UNSUPPORTED_OPERATION")
		w.must(id, grant())
		p := c.refused("SendMessage", object{"message": replying(id, "m-2", "and that")}, "UNSUPPORTED_OPERATION")
		if p.meta["taskId"] != id {
			t.Errorf("metadata %v", p.meta)
		}
		c.refused("SendStreamingMessage", object{"message": replying(id, "m-3", "and that")}, "UNSUPPORTED_OPERATION")
		w.must(id, complete())
		if h := w.head(id); h.Seq != 3 || h.Fence != 1 {
			t.Errorf("seq %d, fence %d", h.Seq, h.Fence)
		}
	})
}

// Case 7, §3.1.1: a message to an ended task is UnsupportedOperation, and kept as
// a rejection (I2).
func TestMessageToEndedTask(t *testing.T) {
	ends := map[string][]lifecycle.Command{
		"completed": {grant(), complete()},
		"failed":    {grant(), failing()},
		"rejected":  {grant(), rejecting()},
		"canceled":  {lifecycle.RequestCancel{}},
	}
	for name, commands := range ends {
		both(t, nil, func(w *world, c client) {
			t := w.t
			id := c.submit(message("m-1", "do it"))
			w.must(id, commands...)
			before := w.head(id).Seq
			for _, operation := range []string{"SendMessage", "SendStreamingMessage"} {
				p := c.refused(operation, object{"message": replying(id, "m-2", strings.Repeat("large ", 20_000))}, "UNSUPPORTED_OPERATION")
				if want := map[bool]int{true: -32004, false: 400}[c.rpc]; p.code != want {
					t.Errorf("%s: code %d, want %d", name, p.code, want)
				}
			}
			kept, err := w.ledger.Rejections(t.Context(), w.ref(id))
			if err != nil || len(kept) != 2 || kept[0].Reason != lifecycle.PostTerminal || kept[0].EventID != "m-2" {
				t.Errorf("%s: %+v, %v", name, kept, err)
			}
			if after := w.head(id).Seq; after != before {
				t.Errorf("%s: seq %d, then %d", name, before, after)
			}
		})
	}
}

// Case 9, §3.4.3: contextId is inferred from the task; another one is refused.
func TestContextOfReply(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		of := w.head(id).ContextID
		p := c.refused("SendMessage", object{"message": with(replying(id, "m-2", "yes"), object{"contextId": "another"})}, "INVALID_PARAMS")
		if strings.Contains(p.message, of) {
			t.Errorf("message %q", p.message)
		}
		got := c.ok("SendMessage", immediately(with(replying(id, "m-2", "yes"), object{"contextId": of})))
		if text(got, "task.contextId") != of || text(got, "task.history.2.contextId") != of {
			t.Errorf("%v", got)
		}
	})
}

// §3.4.1: a caller's contextId is kept, a missing one made; §3.4.2: the task ID is
// always ours. Case 28: a contextId alone begins a new task.
func TestContextOfNewTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		first := w.paused(c, false)
		of := w.head(first).ContextID
		got := c.ok("SendMessage", immediately(with(message("m-2", "and that"), object{"contextId": of})))
		if text(got, "task.contextId") != of || text(got, "task.id") == first {
			t.Errorf("%v", got)
		}
		if h := w.head(first); h.State != lifecycle.InputRequired {
			t.Errorf("the paused task is %s", h.State)
		}
		c.refused("SendMessage", object{"message": replying("0198-mine", "m-3", "new")}, "TASK_NOT_FOUND")
	})
}

// A question that demands it must be answered by its number.
func TestNamedPause(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, true)
		p := c.refused("SendMessage", object{"message": replying(id, "m-2", "yes")}, "INVALID_PARAMS")
		if !strings.Contains(p.message, `"pause": 1`) || !strings.Contains(p.message, lifecycle.ExtensionURI) || len(p.fields) != 1 {
			t.Errorf("%+v", p)
		}
		numbered := func(n any) object {
			return with(replying(id, "m-2", "yes"), object{"metadata": extension(object{"pause": n})})
		}
		for _, wrong := range []any{2, 0, -1, 1.5, "1", true} {
			c.refused("SendMessage", object{"message": numbered(wrong)}, "INVALID_PARAMS")
		}
		got := c.ok("SendMessage", immediately(numbered(1)))
		if text(got, "task.status.state") != "TASK_STATE_WORKING" {
			t.Errorf("%v", got)
		}
	})
}

// The pause may also be named in the request's metadata.
func TestPauseInRequest(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		id := w.paused(c, true)
		c.ok("SendMessage", with(immediately(replying(id, "m-2", "yes")), object{"metadata": extension(object{"pause": 1})}))
	})
}

// Case 29: a reply at the deadline is refused, and the refusal commits the expiry.
func TestLateReply(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.paused(c, false)
		w.clock.Advance(time.Hour)
		p := c.refused("SendMessage", object{"message": replying(id, "m-2", "yes")}, "UNSUPPORTED_OPERATION")
		if !strings.Contains(p.message, "deadline") {
			t.Errorf("message %q", p.message)
		}
		if h := w.head(id); h.State != lifecycle.Failed {
			t.Errorf("state %s", h.State)
		}
		if _, answers := w.told(); !slices.Equal(answers, []int{1}) {
			t.Errorf("told of %v: the parked execution must end", answers)
		}
	})
}

// Case 25, §7.6.1, I12: messages in auth-required are kept and authorize nothing.
func TestMessageWhileAuthRequired(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant(), pause(lifecycle.AuthRequired, false))
		got := c.ok("SendMessage", object{"message": replying(id, "m-2", "go ahead")})
		if text(got, "task.status.state") != "TASK_STATE_AUTH_REQUIRED" || text(got, "task.history.1.messageId") != "m-2" {
			t.Errorf("%v", got)
		}
		if _, answers := w.told(); len(answers) != 0 {
			t.Errorf("told of %v", answers)
		}
	})
}
