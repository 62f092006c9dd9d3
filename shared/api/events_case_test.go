package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// as is an event of another worker.
func as(producer string, e object) object { return with(e, object{"producer": producer}) }

// Case 14, with workers from outside: the task pauses on one, goes on and completes on
// another, and the first one, which still has the task as it was, reports once more. Its
// word is refused by its fence, later by the end, and the history has lost nothing.
func TestCasePausedOnOneWorker(t *testing.T) {
	b := newBench(t)
	b.claim()
	b.took(b.event("1", 1, 1, chunks(at(1, 1, "one ", false))))
	b.took(b.event("ask", 2, 1, object{"kind": "pause", "text": "Go on?", "state": object{"seen": 1}}))
	reply := with(message("m-2", "Yes."), object{"taskId": b.task})
	if a := b.call("SendMessage", immediately(reply)); a.err != nil {
		t.Fatalf("%.300s", a.raw)
	}
	second := as("w2", b.event("claim", 0, 0, object{"kind": "claim"}))
	wants(t, b.took(second), object{"fence": 2, "work.message.parts.0.text": "Yes.", "work.state.seen": 1, "work.artifacts.0.chunks": 1, "work.last.sourceSequence": 0})
	stale := b.event("3", 3, 1, chunks(at(1, 2, "stale", true)))
	b.refused(stale, http.StatusConflict, "FENCE_LOST")
	b.took(as("w2", b.event("1", 1, 2, chunks(at(1, 2, "two", true)))))
	b.took(as("w2", b.event("2", 2, 2, object{"kind": "complete", "text": "Done."})))
	b.refused(stale, http.StatusConflict, "FENCE_LOST") // it is answered alike
	b.refused(b.event("4", 3, 1, object{"kind": "fail", "reason": "stale"}), http.StatusConflict, "POST_TERMINAL")
	wants(t, b.get().result, object{
		"status.state": "TASK_STATE_COMPLETED", "artifacts.0.parts.0.text": "one ", "artifacts.0.parts.1.text": "two", "artifacts.0.parts.2": nil, "history.2.parts.0.text": "Yes.",
	})
	if c := b.counts(); c != (ledger.Counts{Rejections: 2, Hits: 1}) {
		t.Errorf("the counts are %+v", c)
	}
}

// Case 24, with a worker from outside: it asks for an authorization, the caller's blocking
// send returns, and a receipt out of band alone lets the task go on, without a message of
// the client's. A stream that was open meanwhile is served to the end.
func TestCaseAuthorizedOutOfBand(t *testing.T) {
	var a *approver
	both(t, []func(*world){outside, approving(&a)}, func(w *world, c client) {
		t := w.t
		plain := client{t: t, base: w.server.URL, http: c.http, head: c.head}
		b := &bench{world: w, client: plain, t: t}
		answered := make(chan answer, 1)
		w.onSubmit = nil
		go func() { answered <- c.call("SendMessage", object{"message": message("m-1", "Archive it.")}) }()
		b.task = w.only()
		b.claim()
		s := c.open("SubscribeToTask", object{"id": b.task})
		if e := s.must(); e.state() != "TASK_STATE_WORKING" {
			t.Fatalf("the stream begins with %v", e.body)
		}
		b.took(b.event("ask", 1, 1, object{"kind": "pause", "text": "May I?", "pause": object{"for": "authorization", "action": "delete"}}))
		if got := <-answered; text(got.result, "task.status.state") != "TASK_STATE_AUTH_REQUIRED" {
			t.Errorf("the blocking send was answered %.300s", got.raw)
		}
		if got := plain.authorize(b.task, a.give(b.task, 1, "j-1")); got.status != http.StatusOK {
			t.Fatalf("%s", got.raw)
		}
		fence := b.claim()
		b.took(b.event("end", 2, fence, object{"kind": "complete", "text": "Archived."}))
		var states []string
		for _, e := range s.rest() {
			states = append(states, e.state())
		}
		if got := fmt.Sprint(states); got != "[TASK_STATE_AUTH_REQUIRED TASK_STATE_WORKING TASK_STATE_COMPLETED]" {
			t.Errorf("on the stream: %s", got)
		}
	})
}

// only is the world's one task, once there is one.
func (w *world) only() string {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		page, err := w.ledger.List(w.t.Context(), ledger.ListQuery{Tenant: tenant, Now: w.clock.Now(), Limit: 2})
		if err != nil || len(page.Heads) > 1 {
			w.t.Fatalf("%d tasks, %v", len(page.Heads), err)
		}
		if len(page.Heads) == 1 {
			return string(page.Heads[0].Task)
		}
	}
	w.t.Fatal("there is no task")
	return ""
}

// Case 25: what each state takes. The two interrupted ones are none of the ends: they
// take a message, a cancellation and a subscriber, and they are left again.
func TestCaseWhatStatesTake(t *testing.T) {
	const unsupported, notCancelable = "UNSUPPORTED_OPERATION", "TASK_NOT_CANCELABLE"
	for state, c := range map[string]struct {
		commands                   []lifecycle.Command
		message, cancel, subscribe string // the reason of a refusal
	}{
		"TASK_STATE_SUBMITTED":      {nil, unsupported, "", ""},
		"TASK_STATE_WORKING":        {[]lifecycle.Command{grant()}, unsupported, "", ""},
		"TASK_STATE_INPUT_REQUIRED": {[]lifecycle.Command{grant(), pause(lifecycle.InputRequired, false)}, "", "", ""},
		"TASK_STATE_AUTH_REQUIRED":  {[]lifecycle.Command{grant(), pause(lifecycle.AuthRequired, false)}, "", "", ""},
		"TASK_STATE_COMPLETED":      {[]lifecycle.Command{grant(), complete()}, unsupported, notCancelable, unsupported},
		"TASK_STATE_FAILED":         {[]lifecycle.Command{grant(), failing()}, unsupported, notCancelable, unsupported},
		"TASK_STATE_REJECTED":       {[]lifecycle.Command{grant(), rejecting()}, unsupported, notCancelable, unsupported},
		"TASK_STATE_CANCELED":       {[]lifecycle.Command{lifecycle.RequestCancel{Principal: "p"}}, unsupported, "", unsupported},
	} {
		both(t, nil, func(w *world, client client) {
			made := func(n int) string {
				id := client.submit(message(fmt.Sprint("m-", n), "do it"))
				w.must(id, c.commands...)
				if got := text(client.ok("GetTask", object{"id": id}), "status.state"); got != state {
					w.t.Fatalf("the task is %s, want %s", got, state)
				}
				return id
			}
			if got := reasonOf(client.call("SendMessage", immediately(replying(made(1), "more", "and this")))); got != c.message {
				w.t.Errorf("%s: a message: %q, want %q", state, got, c.message)
			}
			id := made(2)
			if c.subscribe != "" {
				client.refused("SubscribeToTask", object{"id": id}, c.subscribe)
			} else {
				s := client.open("SubscribeToTask", object{"id": id})
				if e := s.must(); e.state() != state {
					w.t.Errorf("%s: the stream begins with %v", state, e.body)
				}
				s.cut()
			}
			if state == "TASK_STATE_WORKING" {
				return // a cancellation waits for its holder, who is nobody here
			}
			got := client.call("CancelTask", object{"id": id})
			if reasonOf(got) != c.cancel || c.cancel == "" && text(got.result, "status.state") != "TASK_STATE_CANCELED" {
				w.t.Errorf("%s: a cancellation: %.300s, want %q", state, got.raw, c.cancel)
			}
		})
	}
}

// Case 44, with a worker from outside: what appends to an artifact that is not there is
// refused as a whole, nothing of it is kept or dropped in silence, and the task cannot
// complete as if it had been; it mends by opening the artifact.
func TestCaseAppendToNothing(t *testing.T) {
	b := newBench(t)
	b.claim()
	report := b.event("1", 1, 1, object{"kind": "chunk", "chunks": []any{piece("out", "first", false, false), piece("other", "second", true, true)}})
	a := b.refused(report, http.StatusBadRequest, "INVALID_PARAMS")
	if text(object{"e": a.err.message}, "e") == "" || b.world.head(b.task).Artifacts != 0 {
		t.Errorf("%.300s", a.raw)
	}
	b.took(b.event("1", 1, 1, object{"kind": "chunk", "chunks": []any{piece("out", "first", false, false), piece("other", "second", false, true)}}))
	b.refused(b.event("2", 2, 1, object{"kind": "complete"}), http.StatusBadRequest, "INVALID_PARAMS") // "out" is open
	b.took(b.event("2", 2, 1, object{"kind": "chunk", "chunks": []any{piece("out", ".", true, true)}}))
	b.took(b.event("3", 3, 1, object{"kind": "complete"}))
	wants(t, b.get().result, object{"artifacts.0.parts.1.text": ".", "artifacts.1.parts.0.text": "second", "status.state": "TASK_STATE_COMPLETED"})
}
