package journeys_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// panicky breaks every time.
func panicky() *agent.Agent {
	return agent.New("panicky", 1, agent.Step[note]{Name: "break", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
		panic("at the disco")
	}}).KeyedByMessageID()
}

// Whatever ends a task, and whether or not somebody follows it: the webhook is told
// everything that a stream would show, and last of the end, under the sequence that the
// task has (cases 16, 29, 37).
func TestWebhooksTellEveryEnd(t *testing.T) {
	for _, c := range []struct {
		name, text string
		agent      *agent.Agent
		meanwhile  func(w *world, id a2a.TaskID)
		want       a2a.TaskState
	}{
		{"the caller's connection is cut (16)", "count 3", hello.Agent, func(w *world, id a2a.TaskID) {
			s := w.subscribe(id, 0)
			w.first(s)
			s.cut()
		}, a2a.TaskStateCompleted},
		{"nobody answers until the deadline (29)", "go", asker(func(string) {}), func(*world, a2a.TaskID) {}, a2a.TaskStateFailed},
		{"a task that waits is canceled (37)", "go", asker(func(string) {}), func(w *world, id a2a.TaskID) {
			w.waitState(lifecycle.Ref{Tenant: node.Tenant, Task: id}, a2a.TaskStateInputRequired)
			w.must(http.MethodPost, "/tasks/"+string(id)+":cancel", "", nil)
		}, a2a.TaskStateCanceled},
		{"the agent panics, each time (37)", "go", panicky(), func(*world, a2a.TaskID) {}, a2a.TaskStateFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newListener(t, nil)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.agent)
				w.guard = webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true}
				n := w.process()
				defer w.stop(n)
				var s sent
				w.must(http.MethodPost, "/message:send", fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true,
					"taskPushNotificationConfig":{"id":"hook","url":"http://%s/"}}}`, c.text, v.address), &s)
				c.meanwhile(w, s.Task.ID)
				a := &staged{world: w, listener: v, task: s.Task.ID}
				a.deliveredTo(2 * time.Hour)
				task := w.verify(s.Task.ID)
				var got []uint64
				for _, one := range v.seen() {
					got = append(got, one.Seq)
				}
				tries := v.seen()
				last := tries[len(tries)-1]
				if want := w.visible(task.Ref()); !slices.Equal(got, want) {
					t.Errorf("told of %v, callers see %v", got, want)
				}
				read := w.task("", s.Task.ID)
				if task.State != c.want || read.Status.State != c.want || last.state != string(c.want) || last.Seq != task.Seq {
					t.Errorf("last told: %s at %d; the task is %s, %s at %d; want %s", last.state, last.Seq, read.Status.State, task.State, task.Seq, c.want)
				}
			})
		})
	}
}
