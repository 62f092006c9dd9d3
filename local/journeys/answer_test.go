package journeys_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func (w *world) paused(id string) a2a.Task {
	w.t.Helper()
	var s sent
	w.must(http.MethodPost, "/message:send", send(id, "go", ""), &s)
	return w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateInputRequired))
}

func reply(id, text string, task a2a.TaskID) string {
	return send(id, text, fmt.Sprintf(`,"taskId":%q`, task))
}

// Case 30: an answer at once after the question, before the execution has parked,
// and an answer long after it are each taken once.
func TestAnswerAtAnyTime(t *testing.T) {
	for name, delay := range map[string]time.Duration{"at once": 0, "after 5 ms": 5 * time.Millisecond, "after a minute": time.Minute, "just in time": 59*time.Minute + 58*time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				w := newWorld(t, asker(func(key string) { told = append(told, key) }))
				n := w.process()
				defer w.stop(n)
				ref := lifecycle.Ref{Tenant: node.Tenant, Task: w.submitOnly("early")}
				w.waitState(ref, a2a.TaskStateInputRequired)
				<-time.NewTimer(delay).C
				w.must(http.MethodPost, "/message:send", reply("r1", "Oslo", ref.Task), nil)
				done := w.until("", ref.Task, time.Minute, in(a2a.TaskStateCompleted))
				if len(told) != 1 || agent.Text(done.Status.Message) != "You said Oslo" {
					t.Errorf("told %v, %q", told, agent.Text(done.Status.Message))
				}
				w.verify(ref.Task)
			})
		})
	}
}

func (w *world) submitOnly(id string) a2a.TaskID {
	w.t.Helper()
	var s sent
	w.must(http.MethodPost, "/message:send", send(id, "go", ""), &s)
	return s.Task.ID
}

// waitState waits by the ledger's own watch, without any delay of its own.
func (w *world) waitState(ref lifecycle.Ref, want a2a.TaskState) {
	w.t.Helper()
	for {
		h, err := w.ledger.Head(w.t.Context(), ref)
		if err != nil {
			w.t.Fatal(err)
		}
		if h.State == want {
			return
		}
		if err := w.ledger.Watch(w.t.Context(), ref, h.Seq); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The same answer again is the same answer (a lookup hit); another one finds a
// task that waits for nothing; of all that come at once, one counts.
func TestAnswerTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := 0
		w := newWorld(t, asker(func(string) { mu.Lock(); told++; mu.Unlock() }))
		n := w.process()
		defer w.stop(n)
		p := w.paused("twice")
		var all sync.WaitGroup
		same, others := 0, 0
		for range 16 {
			all.Go(func() {
				status, err := w.call(http.MethodPost, "/message:send", reply("same", "Oslo", p.ID), nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					same++
				}
			})
			all.Go(func() {
				status, err := w.call(http.MethodPost, "/message:send", reply(a2a.NewMessageID(), "Rome", p.ID), nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					others++
				}
			})
		}
		all.Wait()
		w.until("", p.ID, time.Minute, in(a2a.TaskStateCompleted))
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		if all, one := same == 16 && others == 0, same == 0 && others == 1; !all && !one {
			t.Errorf("%d times the same answer and %d others were taken; want all of the first or one of the second", same, others)
		}
		w.verify(p.ID)
	})
}

// Case 13 and 14: two doors with a runner each on one ledger give the same
// answers; what pauses on the one is answered through the other; a third process
// after both are gone finds everything.
func TestTwoInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		w := newWorld(t, asker(func(string) { told++ }))
		a := w.process()
		p := w.paused("two")
		other := newWorld(t, w.agents...)
		other.ledger, other.blobs = w.ledger, w.blobs
		b := other.process()
		if got := other.task("", p.ID); got.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("the other instance says %s", got.Status.State)
		}
		other.must(http.MethodPost, "/message:send", reply("r", "Oslo", p.ID), nil)
		w.until("", p.ID, 2*time.Minute, in(a2a.TaskStateCompleted))
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		w.stop(a)
		other.stop(b)
		third := newWorld(t, w.agents...)
		third.ledger, third.blobs = w.ledger, w.blobs
		c := third.process()
		if got := third.task("", p.ID); got.Status.State != a2a.TaskStateCompleted || agent.Text(got.Status.Message) != "You said Oslo" {
			t.Errorf("the third process says %+v", got.Status)
		}
		var list struct{ Tasks []a2a.Task }
		third.must(http.MethodGet, "/tasks", "", &list)
		if len(list.Tasks) != 1 || list.Tasks[0].ID != p.ID {
			t.Errorf("the third process lists %+v", list.Tasks)
		}
		w.verify(p.ID)
		third.stop(c)
	})
}

// Case 25, and the deadline: a paused task can be canceled; nobody answers and it
// ends at its deadline; an answer after that is refused.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, asker(func(string) { t.Error("somebody was told") }))
		n := w.process()
		defer w.stop(n)
		p := w.paused("cancel")
		var canceled a2a.Task
		w.must(http.MethodPost, "/tasks/"+string(p.ID)+":cancel", "", &canceled)
		if canceled.Status.State != a2a.TaskStateCanceled {
			t.Errorf("canceled: %+v", canceled.Status)
		}
		w.verify(p.ID)
		q := w.paused("deadline")
		<-time.NewTimer(time.Hour + 10*time.Second).C
		ended := w.task("", q.ID)
		if ended.Status.State != a2a.TaskStateFailed {
			t.Errorf("after the deadline: %+v", ended.Status)
		}
		if status, err := w.call(http.MethodPost, "/message:send", reply("late", "Oslo", q.ID), nil); err != nil || status != http.StatusBadRequest {
			t.Errorf("a late answer: %d %v, want 400", status, err)
		}
		w.verify(q.ID)
		synctest.Wait()
		if s := n.Stats(); s.Parked+s.Running != 0 {
			t.Errorf("%d executions are parked and %d run after all tasks have ended", s.Parked, s.Running)
		}
	})
}
