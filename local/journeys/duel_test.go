package journeys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A duel is a cancellation against something else that happens to its task, in the
// real node and in many rounds. Over the rounds the cancellation moves through a
// window around the other event; in every third round both come at one instant,
// and whoever is first is first. A duel counts only if each outcome was seen.
type duel struct {
	from, to time.Duration // when the cancellation comes, since the task was submitted
	tie      time.Duration // when the other event comes
	outcomes []string
	round    func(t *testing.T, at time.Duration) string
}

const (
	duelRounds = 120
	// duelShare is the least share of the rounds, in percent, for each outcome.
	duelShare = 10
)

func (d duel) run(t *testing.T) {
	seen, tied := map[string]int{}, map[string]int{}
	for i := range duelRounds {
		at := d.from + (d.to-d.from)*time.Duration(i)/duelRounds
		if i%3 == 2 {
			at = d.tie
		}
		outcome := ""
		synctest.Test(t, func(t *testing.T) { outcome = d.round(t, at) })
		if t.Failed() {
			t.Fatalf("round %d, canceled after %s: %q", i, at, outcome)
		}
		seen[outcome]++
		if i%3 == 2 {
			tied[outcome]++
		}
	}
	line := make([]string, 0, len(d.outcomes))
	for _, outcome := range d.outcomes {
		n := seen[outcome]
		line = append(line, fmt.Sprintf("%s %d (%d %%, at one instant %d)", outcome, n, n*100/duelRounds, tied[outcome]))
		if n*100 < duelRounds*duelShare {
			t.Errorf("outcome %q was seen in %d of %d rounds, want at least %d %%", outcome, n, duelRounds, duelShare)
		}
		delete(seen, outcome)
	}
	t.Logf("%d rounds: %s", duelRounds, strings.Join(line, ", "))
	for outcome, n := range seen {
		t.Errorf("%d rounds ended in %q, which must not happen", n, outcome)
	}
}

// asked is a cancellation and its answer.
type asked struct {
	status  int
	task    a2a.Task // when it was not refused
	tooLate bool     // TaskNotCancelable
}

// cancelAt asks to cancel a task at an instant.
func (w *world) cancelAt(instant time.Time, id a2a.TaskID) asked {
	w.t.Helper()
	<-time.NewTimer(time.Until(instant)).C
	var raw json.RawMessage
	status, err := w.call(http.MethodPost, "/tasks/"+string(id)+":cancel", "", &raw)
	got := asked{status: status}
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal(raw, &got.task)
	}
	got.tooLate = strings.Contains(string(raw), `"reason":"TASK_NOT_CANCELABLE"`)
	if err != nil || status != http.StatusOK && !got.tooLate {
		w.t.Errorf("the cancellation: %d %s %v", status, raw, err)
	}
	return got
}

// ending is how a task came to its end.
type ending struct {
	state   a2a.TaskState
	by      string // producer of the last entry, without the hash of a client
	asked   bool   // the request is in the history
	paused  bool
	replied bool
	at      time.Time
	effects []lifecycle.Effect
}

// canceledAtOnce says that whoever asked has ended the task.
func (e ending) canceledAtOnce() bool { return e.state == a2a.TaskStateCanceled && e.by == "client" }

// canceledBy says that the task was canceled by somebody who met the request.
func (e ending) canceledBy(producer string) bool {
	return e.state == a2a.TaskStateCanceled && e.by == producer
}

// judge waits for the end of a task that somebody wanted to cancel, and holds it
// against what must be true of it whoever was first.
func (w *world) judge(id a2a.TaskID, got asked) ending {
	w.t.Helper()
	w.until("", id, 5*time.Minute, func(t a2a.Task) bool { return t.Status.State.Terminal() })
	whole := w.verify(id)
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: id}
	entries, err := w.ledger.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	out := ending{state: whole.State, at: whole.StatusAt}
	requests, ends := 0, 0
	for i, e := range entries {
		switch e.Type {
		case lifecycle.TypeCancelRequested:
			requests++
			if i != len(entries)-2 {
				w.t.Errorf("entry %d of %d is the request; it stands before the end", e.Seq, len(entries))
			}
		case lifecycle.TypeEnded:
			ends++
			out.by, _, _ = strings.Cut(e.Producer, ":")
		case lifecycle.TypePaused:
			out.paused = true
		case lifecycle.TypeReply:
			out.replied = true
		}
	}
	out.asked = requests == 1
	last := entries[len(entries)-1]
	if ends != 1 || last.Type != lifecycle.TypeEnded || requests > 1 {
		w.t.Errorf("I2: %d ends, %d requests, the last entry is %s", ends, requests, last.Type)
	}
	canceled := whole.State == a2a.TaskStateCanceled
	switch {
	case canceled && (got.tooLate || !out.asked):
		w.t.Errorf("canceled, request in the history: %t, and the answer was %d", out.asked, got.status)
	case !canceled && got.task.Status.State.Terminal():
		w.t.Errorf("ended as %s, and the answer was %s", whole.State, got.task.Status.State)
	case !canceled && !got.tooLate && !out.asked:
		w.t.Errorf("ended as %s: the request was taken, and is not in the history", whole.State)
	}
	if out.effects, err = w.ledger.EffectList(context.Background(), ref); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range out.effects {
		if e.State == lifecycle.EffectIntended {
			w.t.Errorf("I7: effect %q was begun under fence %d and is not settled", e.Name, e.Fence)
		}
	}
	now := w.task("", id)
	if now.Status.State != whole.State {
		w.t.Errorf("GetTask says %s, the ledger %s", now.Status.State, whole.State)
	}
	return out
}

// quiet wants nothing to run or to be parked any more.
func (w *world) quiet(n *node.Node) {
	w.t.Helper()
	synctest.Wait()
	if s := n.Stats(); s.Parked+s.Running != 0 {
		w.t.Errorf("%d executions are parked and %d run after the end", s.Parked, s.Running)
	}
}
