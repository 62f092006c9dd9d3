package journeys_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// authorizer waits an hour for an authorization that never comes.
func authorizer() *agent.Agent {
	return agent.New("authorizer", 1, agent.Step[note]{Name: "ask", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
		return agent.Authorize("delete", "May I?", "ask", agent.For(10*time.Minute)), nil
	}}).KeyedByMessageID()
}

// A pause ends at its deadline by the state machine's own timeout, without the
// sweep, and whoever watches sees it then. (A stream stays on auth-required.)
func TestDeadlineWithoutTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, authorizer())
		w.sweep = 1000 * time.Hour
		n := w.process()
		defer w.stop(n)
		began := time.Now()
		s := w.stream(http.MethodPost, "/message:stream", send("m", "go", ""))
		var last frame
		for {
			f, err := s.update()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			last = f
		}
		if took := last.at.Sub(began); took != 10*time.Minute || last.state() != a2a.TaskStateFailed {
			t.Errorf("after %s the stream ends with %s, want failed at the deadline", took, last.content())
		}
		ended := w.verify(taskOf(last))
		w.endedFor(ended.Ref(), lifecycle.PauseExpired)
		synctest.Wait()
		if s := n.Stats(); s.Parked+s.Running != 0 || s.Failed != 1 {
			t.Errorf("executions %+v, want the one, failed", s)
		}
	})
}

// A pause ends at its deadline by the sweep, when no execution waits for it: the
// process that had parked it is gone. A late answer does not bring it back.
func TestDeadlineWithoutAnExecution(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, asker(func(string) { t.Error("somebody was told") }))
		n := w.process()
		p := w.paused("dropped")
		w.stop(n)
		n = w.process()
		defer w.stop(n)
		<-time.NewTimer(time.Hour + 5*time.Second).C
		ended := w.verify(p.ID)
		if ended.State != a2a.TaskStateFailed {
			t.Errorf("after the deadline the task is in %s", ended.State)
		}
		w.endedFor(ended.Ref(), lifecycle.PauseExpired)
		if status, err := w.call(http.MethodPost, "/message:send", reply("late", "Oslo", p.ID), nil); status != http.StatusBadRequest || err != nil {
			t.Errorf("a late answer: %d %v, want 400", status, err)
		}
		if after := w.verify(p.ID); after.Seq != ended.Seq {
			t.Error("a late answer left an entry")
		}
	})
}

// The answer that is refused for its lateness ends the task itself, when it comes
// before anybody else has noticed.
func TestLateAnswerCommitsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, asker(func(string) { t.Error("somebody was told") }))
		w.sweep = 1000 * time.Hour
		n := w.process()
		p := w.paused("late")
		w.stop(n)
		n = w.process() // nothing is parked, and nothing is swept
		defer w.stop(n)
		<-time.NewTimer(time.Hour).C
		if got := w.task("", p.ID); got.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("somebody was first: %s", got.Status.State)
		}
		if status, err := w.call(http.MethodPost, "/message:send", reply("late", "Oslo", p.ID), nil); status != http.StatusBadRequest || err != nil {
			t.Errorf("a late answer: %d %v, want 400", status, err)
		}
		ended := w.verify(p.ID)
		if ended.State != a2a.TaskStateFailed {
			t.Errorf("the task is in %s, want failed", ended.State)
		}
		w.endedFor(ended.Ref(), lifecycle.PauseExpired)
	})
}

// endedFor wants a task's last entry to be its only end, for a reason.
func (w *world) endedFor(ref lifecycle.Ref, reason lifecycle.Reason) {
	w.t.Helper()
	entries, err := w.ledger.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, e := range entries {
		if (e.Type == lifecycle.TypeEnded) != (i == len(entries)-1) {
			w.t.Errorf("I2: entry %d of %d is %s", e.Seq, len(entries), e.Type)
		}
	}
	ev, err := entries[len(entries)-1].Event()
	if err != nil || ev.Ending == nil || ev.Ending.Reason != string(reason) {
		w.t.Errorf("the task ended with %+v, %v; want for %s", ev.Ending, err, reason)
	}
}
