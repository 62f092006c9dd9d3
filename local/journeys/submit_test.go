package journeys_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Case 1: the connection breaks before the answer; the same request again gives
// the same task, and its work was done once.
func TestLostAnswerToSubmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		n := w.process()
		defer w.stop(n)
		body := send("lost", "1", "")
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/message:send", strings.NewReader(strings.Replace(body, `"returnImmediately":true`, `"returnImmediately":false`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("A2A-Version", "1.0")
		time.AfterFunc(500*time.Millisecond, cancel)
		resp, err := w.client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("the first answer arrived")
		}
		var again sent
		w.must(http.MethodPost, "/message:send", body, &again)
		w.until("", again.Task.ID, time.Minute, in(a2a.TaskStateCompleted))
		page, err := w.ledger.List(t.Context(), ledger.ListQuery{Tenant: node.Tenant, Limit: 10})
		if err != nil || len(page.Heads) != 1 {
			t.Errorf("%d tasks, %v; want one", len(page.Heads), err)
		}
		w.verify(again.Task.ID)
	})
}

// Cases 2 and 3: 32 submissions of one key at once are one task, one execution
// and 32 equal answers; another body under the key is a conflict, never the old
// answer.
func TestOneKeyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		n := w.process()
		defer w.stop(n)
		var all sync.WaitGroup
		ids := make([]a2a.TaskID, 32)
		for i := range ids {
			all.Go(func() {
				var s sent
				if status, err := w.call(http.MethodPost, "/message:send", send("m", "Ada", ""), &s, "Idempotency-Key", "k"); status != http.StatusOK || err != nil {
					t.Errorf("%d %v", status, err)
				}
				ids[i] = s.Task.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("tasks %v, want one", ids)
			}
		}
		w.until("", ids[0], time.Minute, in(a2a.TaskStateCompleted))
		if got := n.Stats().Started; got != 1 {
			t.Errorf("%d executions, want 1", got)
		}
		status, err := w.call(http.MethodPost, "/message:send", send("m", "Grace", ""), nil, "Idempotency-Key", "k")
		if err != nil || status != http.StatusConflict {
			t.Errorf("another request under the key: %d %v, want 409", status, err)
		}
	})
}

// Cases 5, 6 and 7: a message to a working task and to a finished one is refused
// in the same way every time, starts nothing and changes nothing.
func TestMessageThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		n := w.process()
		defer w.stop(n)
		var s sent
		w.must(http.MethodPost, "/message:send", send("first", "30", ""), &s)
		w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateWorking))
		more := `,"taskId":"` + string(s.Task.ID) + `"`
		for range 3 {
			if status, err := w.call(http.MethodPost, "/message:send", send("more", "30", more), nil); status != http.StatusBadRequest || err != nil {
				t.Errorf("while working: %d %v, want 400", status, err)
			}
		}
		w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateCompleted))
		before := w.verify(s.Task.ID)
		if status, err := w.call(http.MethodPost, "/message:send", send("late", "30", more), nil); status != http.StatusBadRequest || err != nil {
			t.Errorf("when finished: %d %v, want 400", status, err)
		}
		if after := w.verify(s.Task.ID); after.Seq != before.Seq {
			t.Error("a refused message left an entry")
		}
		if got := n.Stats().Started; got != 1 {
			t.Errorf("%d executions, want 1", got)
		}
	})
}

// Cases 11 and 12: a blocking send of a five-minute task answers within its wait
// budget with the task as it is; the task goes on, and ends with everything.
func TestBlockingSendOutlivesItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow())
		n := w.process()
		defer w.stop(n)
		began := time.Now()
		var s sent
		w.must(http.MethodPost, "/message:send", strings.Replace(send("long", "300", ""), "true", "false", 1), &s)
		if took := time.Since(began); took != node.DefaultTiming().WaitBudget || s.Task.Status.State != a2a.TaskStateWorking {
			t.Errorf("after %s the answer is %s", took, s.Task.Status.State)
		}
		done := w.until("", s.Task.ID, 10*time.Minute, in(a2a.TaskStateCompleted))
		if len(done.Artifacts) != 1 || len(done.Artifacts[0].Parts) != 4 {
			t.Errorf("artifacts %+v", done.Artifacts)
		}
		if got := w.verify(s.Task.ID); got.Fence != 1 {
			t.Errorf("fence %d: the step was run again (case 20)", got.Fence)
		}
	})
}
