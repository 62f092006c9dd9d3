package journeys_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Case 9: a reply without a contextId has the task's; one with another is refused
// and changes nothing; what the agent says without one has it filled in, in the
// task and on every update. An empty contextId is none.
func TestContextID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := newWorld(t, asker(func(key string) { told = append(told, key) }))
		n := w.process()
		defer w.stop(n)
		for name, context := range map[string]string{"made": "", "chosen": "trip-7"} {
			body := send(name, "go", "")
			if context != "" {
				body = send(name, "go", fmt.Sprintf(`,"contextId":%q`, context))
			}
			frames := w.all(w.stream(http.MethodPost, "/message:stream", body))
			task := w.task("", taskOf(frames[0]))
			if task.ContextID == "" || context != "" && task.ContextID != context {
				t.Errorf("%s: the task's contextId is %q", name, task.ContextID)
			}
			before := w.verify(task.ID)
			refused := fmt.Sprintf(`,"taskId":%q,"contextId":"another"`, task.ID)
			if status, err := w.call(http.MethodPost, "/message:send", send(name+"-x", "Rome", refused), nil); status != http.StatusBadRequest || err != nil {
				t.Errorf("%s: another contextId: %d %v, want 400", name, status, err)
			}
			if after := w.verify(task.ID); after.Seq != before.Seq || after.State != a2a.TaskStateInputRequired {
				t.Errorf("%s: a refused reply left the task in %s at %d", name, after.State, after.Seq)
			}
			blank := fmt.Sprintf(`,"taskId":%q,"contextId":""`, task.ID)
			rest := w.all(w.stream(http.MethodPost, "/message:stream", send(name+"-r", "Oslo", blank)))
			done := w.until("", task.ID, time.Minute, in(a2a.TaskStateCompleted))
			if agent.Text(done.Status.Message) != "You said Oslo" || len(done.History) != 3 {
				t.Errorf("%s: %q after %d messages", name, agent.Text(done.Status.Message), len(done.History))
			}
			for _, m := range append(done.History, done.Status.Message) {
				if m.ContextID != task.ContextID || m.TaskID != task.ID {
					t.Errorf("%s: a message of context %q, task %q", name, m.ContextID, m.TaskID)
				}
			}
			for _, f := range append(frames, rest...) {
				if info := f.event.TaskInfo(); info.ContextID != task.ContextID || info.TaskID != task.ID {
					t.Errorf("%s: update %d is of context %q, task %q", name, f.id, info.ContextID, info.TaskID)
				}
			}
		}
		if len(told) != 2 || told[0] == told[1] || strings.Contains(strings.Join(told, " "), "Rome") {
			t.Errorf("told %v", told)
		}
	})
}
