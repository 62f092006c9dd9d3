package api_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.1.5: a task that nobody works on is canceled at once; case 25: also a paused
// one, whose execution is told.
func TestCancel(t *testing.T) {
	setups := map[string][]lifecycle.Command{
		"submitted":      nil,
		"input-required": {grant(), pause(lifecycle.InputRequired, false)},
		"auth-required":  {grant(), pause(lifecycle.AuthRequired, false)},
	}
	for name, commands := range setups {
		both(t, nil, func(w *world, c client) {
			t := w.t
			id := c.submit(message("m-1", "do it"))
			w.must(id, commands...)
			for range 2 { // §3.3.1: the second time is the same
				got := c.ok("CancelTask", object{"id": id})
				if text(got, "status.state") != "TASK_STATE_CANCELED" || text(got, "id") != id {
					t.Errorf("%s: %v", name, got)
				}
			}
			want := []int(nil)
			if len(commands) > 0 {
				want = []int{1}
			}
			if _, answers := w.told(); !slices.Equal(answers, want) {
				t.Errorf("%s: told of %v, want %v", name, answers, want)
			}
		})
	}
}

// A task that has ended otherwise is TaskNotCancelable.
func TestCancelEndedTask(t *testing.T) {
	for name, end := range map[string]lifecycle.Command{"completed": complete(), "failed": failing(), "rejected": rejecting()} {
		both(t, nil, func(w *world, c client) {
			t := w.t
			id := c.submit(message("m-1", "do it"))
			w.must(id, grant(), end)
			p := c.refused("CancelTask", object{"id": id}, "TASK_NOT_CANCELABLE")
			if want := map[bool]int{true: -32002, false: 400}[c.rpc]; p.code != want {
				t.Errorf("%s: code %d, want %d", name, p.code, want)
			}
			c.refused("CancelTask", object{"id": "0198-none"}, "TASK_NOT_FOUND")
		})
	}
}

// A holder meets the request and acknowledges it while the caller waits.
func TestCancelWaitsForTheHolder(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		done := make(chan answer, 1)
		go func() { done <- c.call("CancelTask", object{"id": id}) }()
		w.marked(id)
		w.must(id, lifecycle.Report{Verb: lifecycle.VerbCancel})
		if a := <-done; text(a.result, "status.state") != "TASK_STATE_CANCELED" {
			t.Errorf("%.300s", a.raw)
		}
	})
}

// marked waits until the head carries a cancellation.
func (w *world) marked(id string) {
	for w.head(id).Cancel == nil && w.t.Context().Err() == nil {
		runtime.Gosched() // the mark is no entry: there is nothing to watch
	}
}

// A holder that does not come: the answer is the task as it is.
func TestCancelAnswersWithinItsWait(t *testing.T) {
	short := func(w *world) { w.config.CancelWait = time.Millisecond }
	both(t, []func(*world){short}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		if got := c.ok("CancelTask", object{"id": id}); text(got, "status.state") != "TASK_STATE_WORKING" {
			t.Errorf("%v", got)
		}
		if w.head(id).Cancel == nil {
			t.Error("the request is not on the head")
		}
	})
}

// Case 48: cancel against complete. One end, and the answer is the one that
// GetTask gives.
func TestCancelAgainstComplete(t *testing.T) {
	const rounds = 120
	both(t, nil, func(w *world, c client) {
		t := w.t
		won := map[string]int{}
		for i := range rounds {
			id := c.submit(message(fmt.Sprintf("m-%d", i), "do it"))
			w.must(id, grant())
			start := make(chan struct{})
			done := make(chan answer, 1)
			go func() {
				<-start
				done <- c.call("CancelTask", object{"id": id})
			}()
			close(start)
			if i%3 != 0 {
				w.marked(id) // the holder is late: it decides as it likes
			}
			end := complete()
			if i%3 == 1 {
				end = checkpoint() // it had not got there: meets the request
			}
			w.must(id, end)
			a := <-done
			state := text(c.ok("GetTask", object{"id": id}), "status.state")
			won[state]++
			switch {
			case state == "TASK_STATE_CANCELED" && text(a.result, "status.state") == state:
			case state == "TASK_STATE_COMPLETED" && a.err != nil && a.err.reason == "TASK_NOT_CANCELABLE":
			default:
				t.Errorf("the task is %s, the answer was %.300s", state, a.raw)
			}
		}
		t.Logf("%d rounds: %v", rounds, won)
		for _, state := range []string{"TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"} {
			if won[state] < rounds/10 {
				t.Errorf("%s in %d of %d rounds", state, won[state], rounds)
			}
		}
	})
}
