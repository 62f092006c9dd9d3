package journeys_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// shop is a policy under which payments can be undone and letters cannot.
const shop = `{"name": "shop", "version": 2, "owner": "the shop", "longestLifeSeconds": 86400, "longestPauseSeconds": 7200,
	"retentionSeconds": {"completed": 864000, "failed": 2592000, "canceled": 432000, "rejected": 259200, "afterExport": 3600},
	"effects": {"pay": {"compensable": true, "by": "the bank", "units": 3}, "letter": {"compensable": false, "units": 1}},
	"billing": {"basis": "effects"}}`

// seller pays, writes a letter, asks, and ends as it is told to.
func seller() *agent.Agent {
	call := func(context.Context, string) (string, error) { return "done", nil }
	return agent.New("seller", 1,
		agent.Step[note]{Name: "sell", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			if _, err := agent.Effect(ctx, t, "pay", call); err != nil {
				return agent.Next{}, err
			}
			if _, err := agent.Effect(ctx, t, "letter", call); err != nil {
				return agent.Next{}, err
			}
			return agent.Pause("And now?", "end", agent.For(24*time.Hour), agent.OrCancel()), nil
		}},
		agent.Step[note]{Name: "end", Retry: agent.Retry{Attempts: 1}, Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			switch agent.Text(t.Message) {
			case "complete":
				return agent.Complete("Sold."), nil
			case "reject":
				return agent.Reject("Not for sale."), nil
			}
			_, err := agent.Effect(ctx, t, "pay", func(context.Context, string) (string, error) { return "", errors.New("no answer") }, agent.Hold())
			return agent.Next{}, agent.Permanent(errors.Join(errors.New("sold out"), ignored(err)))
		}},
	).KeyedByMessageID().Under("shop@2")
}

// ignored keeps a permanent failure one: an effect in doubt would hold the task.
func ignored(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

// A task is judged by its policy from its submission to what it came to: a pause that asks for more is cut, each end has its
// retention, and what is billed and undone follows from its export alone.
func TestPolicyJudges(t *testing.T) {
	for name, c := range map[string]struct {
		answer    string // empty: nobody answers
		state     a2a.TaskState
		retention time.Duration
		units     int64
		undo      []string
		open      int
	}{
		"completed":       {"complete", lifecycle.Completed, 240 * time.Hour, 4, nil, 0},
		"rejected":        {"reject", lifecycle.Rejected, 72 * time.Hour, 1, []string{"pay by the bank"}, 0},
		"failed in doubt": {"fail", lifecycle.Failed, 720 * time.Hour, 1, []string{"pay by the bank"}, 1},
		"canceled":        {"", lifecycle.Canceled, 120 * time.Hour, 1, []string{"pay by the bank"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seller())
			w.policies = known(t)
			n := w.process()
			defer w.stop(n)
			var asked sent
			w.must(http.MethodPost, "/message:send", send("m", "go", ""), &asked)
			id := asked.Task.ID
			w.until("", id, time.Minute, in(lifecycle.InputRequired))
			paused := w.verify(id)
			if got := paused.Pause.DeadlineAt.Sub(paused.StatusAt); got != 2*time.Hour || paused.Policy != "shop@2" {
				t.Errorf("%s: the pause lasts %s under %s, want the policy's two hours", name, got, paused.Policy)
			}
			if c.answer != "" {
				w.must(http.MethodPost, "/message:send", send("r", c.answer, `,"taskId":"`+string(id)+`"`), nil)
			}
			if c.answer == "" {
				<-time.NewTimer(2*time.Hour - time.Minute).C
			}
			w.until("", id, 3*time.Minute, in(c.state))
			ended := w.verify(id)
			if got := ended.ExpiresAt.Sub(ended.StatusAt); got != c.retention {
				t.Errorf("%s: kept for %s, want %s", name, got, c.retention)
			}
			task := w.settled(id)
			var undo []string
			for _, e := range task.Settlement.Effects {
				if e.Duty == policy.DutyCompensate {
					undo = append(undo, e.Key[strings.LastIndex(e.Key, ":")+1:]+" by "+e.By)
				}
			}
			if s := task.Settlement; s.Units != c.units || s.Open != c.open || !slices.Equal(undo, c.undo) {
				t.Errorf("%s: %d units, %v to be undone, %d open; want %d, %v, %d", name, s.Units, undo, s.Open, c.units, c.undo, c.open)
			}
		})
	}
}

// settled is a task as its export has it, for an operator.
func (w *world) settled(id a2a.TaskID) *export.Replayed {
	w.t.Helper()
	task, report, err := export.Replay(bytes.NewReader(w.exported(id)), nil)
	if err != nil || !report.OK() || task.Policy == nil || task.Settlement == nil {
		w.t.Fatalf("%v, %v", err, report.Violations)
	}
	return task
}

// known are the shipped policies and the shop's.
func known(t *testing.T) *policy.Set {
	t.Helper()
	set, err := policy.Shipped()
	if err == nil {
		err = set.Add("shop.json", []byte(shop))
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}
