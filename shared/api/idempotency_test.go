package api_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.3.1, I5. "first" has no keys of its own, "keyed" takes the messageId.

// Case 1: the answer is lost after the commit; the same request again gives the
// same task in its present state, and nothing runs twice.
func TestLostAnswerIsFoundAgain(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		submitted := make(chan string, 1)
		w.onSubmit = func(h lifecycle.Head) error {
			submitted <- string(h.Task)
			return nil
		}
		keyed := c.with("Idempotency-Key", "K-1")
		params := object{"message": message("m-1", "do it")}
		ctx, cancel := context.WithCancel(t.Context())
		dropped := make(chan struct{})
		go func() {
			defer close(dropped)
			if resp, err := keyed.http.Do(keyed.request(ctx, "SendMessage", params)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		}()
		id := <-submitted
		cancel()
		<-dropped
		w.must(id, grant(), progress("Half way."))
		again := keyed.ok("SendMessage", with(params, object{"configuration": object{"returnImmediately": true}}))
		if text(again, "task.id") != id || text(again, "task.status.state") != "TASK_STATE_WORKING" || text(again, "task.contextId") == "" {
			t.Errorf("again: %v", again)
		}
		w.must(id, complete())
		if done := keyed.ok("SendMessage", params); text(done, "task.id") != id || text(done, "task.status.state") != "TASK_STATE_COMPLETED" {
			t.Errorf("done: %v", done)
		}
		if n, _ := w.told(); n != 1 || w.count() != 1 {
			t.Errorf("%d executions, %d tasks", n, w.count())
		}
	})
}

// Case 2: 32 at once give one task, one first entry, one execution.
func TestManySubmittersOfOneKey(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		const submitters = 32
		var wg sync.WaitGroup
		found := make([]string, submitters)
		for i := range submitters {
			wg.Go(func() {
				a := c.with("Idempotency-Key", "K-1").call("SendMessage", immediately(message("m-1", "do it")))
				found[i] = text(a.result, "task.id")
			})
		}
		wg.Wait()
		slices.Sort(found)
		if all := slices.Compact(found); len(all) != 1 || all[0] == "" {
			t.Errorf("tasks %v", all)
		}
		if n, _ := w.told(); n != 1 || w.count() != 1 || w.head(found[0]).Seq != 1 {
			t.Errorf("%d executions, %d tasks", n, w.count())
		}
	})
}

// Case 3: the same key with another request is a conflict, never the old result.
func TestKeyConflict(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		keyed := c.with("Idempotency-Key", "K-1")
		keyed.submit(message("m-1", "do it"))
		for _, other := range []object{
			message("m-1", "do something else"),
			message("m-2", "do it"),
			with(message("m-1", "do it"), object{"contextId": "c-1"}),
			with(message("m-1", "do it"), object{"metadata": object{"x": 1}}),
		} {
			p := keyed.refused("SendMessage", immediately(other), "SUBMISSION_KEY_CONFLICT")
			if want := map[bool]int{true: -32602, false: 409}[c.rpc]; p.code != want {
				t.Errorf("code %d, want %d", p.code, want)
			}
			if strings.Contains(p.message, "K-1") || p.meta["taskId"] != nil {
				t.Errorf("the error tells too much: %+v", p)
			}
		}
		if n := w.count(); n != 1 {
			t.Errorf("%d tasks", n)
		}
	})
}

// The same message in another order of members, with other escapes, is the same.
func TestKeyedRequestIsCanonical(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false).with("Idempotency-Key", "K-1")
	one := c.send(c.raw(t.Context(), "POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"é"}]},"configuration":{"returnImmediately":true}}`))
	two := c.send(c.raw(t.Context(), "POST", "/message:send", `{"configuration":{"returnImmediately":true,"historyLength":0}, "message": {"parts":[{"text":"\u00e9","filename":null}],"role":"ROLE_USER","messageId":"m","new":1}}`))
	if a, b := text(one.result, "task.id"), text(two.result, "task.id"); a == "" || a != b {
		t.Errorf("%.200s\n%.200s", one.raw, two.raw)
	}
}

// Where a key comes from, and that keys of different origins, agents, principals
// and tenants never meet.
func TestKeyScope(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		m := message("m-1", "do it")
		inRequest := with(immediately(m), object{"metadata": extension(object{"submissionKey": "K"})})
		inMessage := immediately(with(m, object{"metadata": extension(object{"submissionKey": "K"})}))
		id := func(c client, params object) string { return text(c.ok("SendMessage", params), "task.id") }
		header := id(c.with("Idempotency-Key", "K"), immediately(m))
		if got := id(c, inRequest); got != header {
			t.Error("the extension's key is another one than the header's")
		}
		if got := id(c.with("Idempotency-Key", "L"), inRequest); got == header {
			t.Error("the header does not come first")
		}
		if a := c.call("SendMessage", inMessage); a.err == nil || a.err.reason != "SUBMISSION_KEY_CONFLICT" {
			t.Errorf("a message that differs in its metadata: %.200s", a.raw)
		}
		tasks := []string{
			header,
			id(c, immediately(m)), // no key: a new task
			id(c, immediately(m)),
			id(c.at("keyed"), immediately(m)),
			id(c.at("keyed").with("Idempotency-Key", "m-1"), immediately(m)), // not the messageId
			id(c.with("Authorization", "Bearer local/other").with("Idempotency-Key", "K"), immediately(m)),
			id(c.with("Authorization", "Bearer elsewhere/me").with("Idempotency-Key", "K"), immediately(m)),
		}
		if got := id(c.at("keyed"), immediately(m)); got != tasks[3] {
			t.Error("the messageId is no key")
		}
		slices.Sort(tasks)
		if n := len(slices.Compact(tasks)); n != 7 {
			t.Errorf("%d tasks of 7 keys", n)
		}
	})
}

func TestBadKeys(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		m := message("m-1", "do it")
		c.with("Idempotency-Key", strings.Repeat("k", 257)).refused("SendMessage", immediately(m), "INVALID_PARAMS")
		for _, key := range []any{"", strings.Repeat("k", 257), "a\nb", 7, []any{}, true} {
			p := c.refused("SendMessage", with(immediately(m), object{"metadata": extension(object{"submissionKey": key})}), "INVALID_PARAMS")
			if len(p.fields) != 1 || !strings.HasSuffix(p.fields[0], ".submissionKey") {
				t.Errorf("fields %v", p.fields)
			}
		}
		c.refused("SendMessage", with(immediately(m), object{"metadata": object{lifecycle.ExtensionURI: "K"}}), "INVALID_PARAMS")
		if n := w.count(); n != 0 {
			t.Errorf("%d tasks", n)
		}
	})
}

// A failed task is returned as it is. One that has expired is not done again under its
// key, whether it was purged already or not, until the key is forgotten (case 65).
func TestKeyOfFinishedTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		keyed := c.with("Idempotency-Key", "K")
		id := keyed.submit(message("m-1", "do it"))
		w.must(id, grant(), failing())
		if got := keyed.ok("SendMessage", object{"message": message("m-1", "do it")}); text(got, "task.id") != id || text(got, "task.status.state") != "TASK_STATE_FAILED" {
			t.Errorf("%v", got)
		}
		at := w.head(id).ExpiresAt
		w.clock.Advance(at.Sub(w.clock.Now()))
		expired := func(what string) {
			t.Helper()
			keyed.refused("SendMessage", object{"message": message("m-1", "do it")}, "SUBMISSION_KEY_EXPIRED")
			keyed.refused("SendMessage", object{"message": message("m-1", strings.Repeat("do it ", 20_000))}, "SUBMISSION_KEY_CONFLICT")
			if n := w.count(); n > 1 {
				t.Errorf("%s: %d tasks", what, n)
			}
		}
		expired("before the purge")
		w.purge(id)
		expired("after the purge")
		w.clock.Advance(lifecycle.DefaultKeyNote - time.Microsecond)
		expired("at the end of the note")
		w.clock.Advance(time.Millisecond)
		for _, m := range []object{message("m-1", strings.Repeat("again ", 20_000)), message("m-1", strings.Repeat("again ", 20_000))} {
			if again := keyed.submit(m); again == id {
				t.Error("the task is back")
			}
		}
		if n := w.count(); n != 1 {
			t.Errorf("%d tasks, want the new one", n)
		}
	})
}

// A repeated submission with large parts stores nothing again.
func TestRepeatedLargeSubmission(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		keyed := c.with("Idempotency-Key", "K")
		m := message("m-1", strings.Repeat("large ", 20_000))
		id := keyed.submit(m)
		if again := keyed.submit(m); again != id {
			t.Errorf("%s, then %s", id, again)
		}
	})
}
