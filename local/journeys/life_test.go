package journeys_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A task that loops for ever, each run of it well, ends with its longest life, in the
// midst of a sleep. Its status says so, and so does its webhook; nobody has looked at it
// in all that time.
func TestLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nap, sweeps = 19 * time.Hour, time.Hour
		runs, box := 0, &inbox{}
		w := newWorld(t, agent.New("looping", 1, agent.Step[note]{Name: "again", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
			runs++
			return agent.Sleep(nap, "again"), nil
		}}).KeyedByMessageID())
		w.sweep, w.hooks = sweeps, &http.Client{Transport: box}
		n := w.process()
		defer w.stop(n)
		began := time.Now()
		var s sent
		w.must(http.MethodPost, "/message:send", hooked("m", "go"), &s)
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
		pass(lifecycle.DefaultLife - time.Second)
		if got := w.task("", ref.Task); got.Status.State != a2a.TaskStateWorking {
			t.Errorf("a second before the end of its life it is %s", got.Status.State)
		}
		ended := w.until("", ref.Task, sweeps+time.Minute, in(a2a.TaskStateFailed))
		if got := agent.Text(ended.Status.Message); got != "The task reached the end of its longest life." {
			t.Errorf("it says %q", got)
		}
		if took := ended.Status.Timestamp.Sub(began); took < lifecycle.DefaultLife || runs != int(lifecycle.DefaultLife/nap)+1 {
			t.Errorf("it ended after %s and %d runs", took, runs)
		}
		pass(time.Minute)
		state, seq, _ := box.last(t)
		if last := w.verify(ref.Task); state != string(a2a.TaskStateFailed) || seq != float64(last.Seq) {
			t.Errorf("the last word that was delivered is %s at %v, the task ended at %d", state, seq, last.Seq)
		}
		pass(2 * nap)
		if runs != int(lifecycle.DefaultLife/nap)+1 {
			t.Errorf("it ran %d times, the last after its end", runs)
		}
	})
}
