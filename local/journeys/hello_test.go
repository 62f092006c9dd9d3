package journeys_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

func newWorld(t *testing.T, agents ...*agent.Agent) *world {
	return &world{t: t, ledger: ledgertest.NewMemory(), blobs: ledgertest.NewMemoryBlobs(), agents: agents}
}

// The README's tour: send, and the same message again is the same task (case 1).
func TestHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		n := w.process()
		const body = `{"message":{"messageId":"hello-1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}`
		var first, again sent
		w.must(http.MethodPost, "/message:send", body, &first)
		if first.Task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("the task is %+v", first.Task.Status)
		}
		w.must(http.MethodPost, "/message:send", body, &again)
		if again.Task.ID != first.Task.ID {
			t.Errorf("the same message became task %s, then %s", first.Task.ID, again.Task.ID)
		}
		w.verify(first.Task.ID)
		w.stop(n)
	})
}

// Case 15: the process dies in the middle of a task that nobody watches, and the
// next one finishes it.
func TestCountSurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		n := w.process()
		var s sent
		w.must(http.MethodPost, "/message:send", `{"message":{"messageId":"c","role":"ROLE_USER","parts":[{"text":"count 10"}]},"configuration":{"returnImmediately":true}}`, &s)
		<-time.NewTimer(4 * time.Second).C
		w.stop(n)
		<-time.NewTimer(time.Hour).C
		n = w.process()
		w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateCompleted))
		w.verify(s.Task.ID)
		w.stop(n)
	})
}
