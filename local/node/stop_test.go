package node

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Stop lets a running step come to its end, which is committed; what is asleep or
// waits for somebody does not hold it up.
func TestStopLetsAStepCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(5),
			worker("sleeper", 0, func(context.Context, task) (agent.Next, error) { return agent.Sleep(time.Hour, "a"), nil }),
			worker("asker", 0, func(context.Context, task) (agent.Next, error) { return agent.Pause("?", "a"), nil }))
		n := r.process()
		ref := r.told(n, "steady")
		r.told(n, "sleeper")
		r.told(n, "asker")
		<-time.NewTimer(2500 * time.Millisecond).C
		if took := r.stop(n, 10*time.Second); took != 2500*time.Millisecond {
			t.Errorf("stopping took %s, want the rest of the step", took)
		}
		if h := r.head(ref); h.State != lifecycle.Completed || h.Fence != 1 {
			t.Errorf("the task is in %s under fence %d, want completed in its first lease", h.State, h.Fence)
		}
		r.whole(ref)
	})
}

// A step that takes longer is told when the patience is over; it gives its lease
// back, and the next process goes on from its last commit. Nothing is lost and
// nothing is done again.
func TestStopTellsALongStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds = 40
		r := newRig(t, steady(seconds))
		n := r.process()
		ref := r.told(n, "steady")
		<-time.NewTimer(2500 * time.Millisecond).C
		if took := r.stop(n, 10*time.Second); took != 10*time.Second {
			t.Errorf("stopping took %s, want the whole patience", took)
		}
		h := r.head(ref)
		if h.State != lifecycle.Working || h.Holder != "" {
			t.Errorf("the task is in %s and %q holds its lease, want working and nobody", h.State, h.Holder)
		}
		kept := h.Seq
		n = r.process()
		r.until(ref, lifecycle.Completed)
		r.stop(n, time.Minute)
		entries := r.whole(ref)
		// Submitted, started, one for each second, and the end.
		if len(entries) != seconds+3 || kept != 14 {
			t.Errorf("%d entries, %d of them before the stop; want %d and 14", len(entries), kept, seconds+3)
		}
	})
}

// A step that does not listen cannot be waited for. Stop says so; what the step
// says afterwards is not lost either, for it still holds the lease.
func TestStopOfAStepThatDoesNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, worker("deaf", time.Minute, func(context.Context, task) (agent.Next, error) {
			<-time.NewTimer(50 * time.Second).C
			return agent.Complete("done"), nil
		}))
		n := r.process()
		ref := r.told(n, "deaf")
		<-time.NewTimer(time.Second).C
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := n.Stop(ctx); err == nil || !contains(err, "still run") {
			t.Errorf("error %v, want that something still runs", err)
		}
		r.until(ref, lifecycle.Completed)
		r.whole(ref)
	})
}

// Nothing runs after Stop: no sweep, no execution, and nothing new begins. The
// bubble sees to it that no goroutine is left.
func TestNothingRunsAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(5),
			worker("sleeper", 0, func(context.Context, task) (agent.Next, error) { return agent.Sleep(time.Minute, "a"), nil }),
			worker("failing", 0, func(context.Context, task) (agent.Next, error) { return agent.Next{}, errors.New("oops") }))
		n := r.process()
		var refs []lifecycle.Ref
		for _, name := range []string{"steady", "sleeper", "failing"} {
			refs = append(refs, r.told(n, name))
		}
		<-time.NewTimer(90 * time.Second).C
		r.stop(n, 10*time.Second)
		stats := n.Stats()
		calls := r.calls.Calls()
		late := r.submit("sleeper")
		if err := n.Dispatcher.Submitted(t.Context(), r.head(late)); err == nil {
			t.Error("an execution was started after the stop")
		}
		<-time.NewTimer(24 * time.Hour).C
		if got := r.calls.Calls(); got != calls {
			t.Errorf("%d calls of the ledger after the stop: %v", got-calls, r.calls.Names()[calls:])
		}
		if got := n.Stats(); got.Running+got.Parked != 0 || got.Transitions != stats.Transitions {
			t.Errorf("the state machine went on: %+v, then %+v", stats, got)
		}
		for _, ref := range refs {
			r.whole(ref)
		}
		r.stop(n, time.Second) // a second time is no harm
	})
}

// Streams and waits end when the node stops, and so does their side of the
// connection.
func TestStopEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, worker("sleeper", 0, func(context.Context, task) (agent.Next, error) { return agent.Sleep(time.Hour, "a"), nil }))
		n := r.process()
		answers := make(chan *httptest.ResponseRecorder, 2)
		for _, path := range []string{"/message:stream", "/message:send"} {
			body := `{"message":{"messageId":"` + path + `","role":"ROLE_USER","parts":[{"text":"go"}]}}`
			req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
			req.Header.Set("A2A-Version", "1.0")
			go func() {
				rec := httptest.NewRecorder()
				n.Handler.ServeHTTP(rec, req)
				answers <- rec
			}()
		}
		<-time.NewTimer(5 * time.Second).C
		r.stop(n, 10*time.Second)
		stopped := time.Now()
		for range cap(answers) {
			if rec := <-answers; rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "TASK_STATE_WORKING") {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		}
		if late := time.Since(stopped); late != 0 {
			t.Errorf("they ended %s after the stop", late)
		}
	})
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
