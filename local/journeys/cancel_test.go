package journeys_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Case 48 with two clients: 500 rounds of cancel against complete. Each ends once;
// the loser is told; the answer is what GetTask says. A round counts only if both
// outcomes are seen often enough.
func TestCancelAgainstComplete(t *testing.T) {
	const rounds = 500
	completed, canceled := 0, 0
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, agent.New("racer", 1, agent.Step[note]{Name: "run", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
				for range 8 {
					<-time.NewTimer(250 * time.Millisecond).C
					if err := t.Commit(ctx); err != nil {
						return agent.Next{}, err
					}
				}
				return agent.Complete("done"), nil
			}}))
			n := w.process()
			defer w.stop(n)
			id := w.submitOnly("race")
			<-time.NewTimer(time.Duration(1000+4*round) * time.Millisecond).C // from before the end to after it
			var answer a2a.Task
			status, err := w.call(http.MethodPost, "/tasks/"+string(id)+":cancel", "", &answer)
			if err != nil {
				t.Fatal(err)
			}
			ended := w.until("", id, time.Minute, func(t a2a.Task) bool { return t.Status.State.Terminal() })
			switch ended.Status.State {
			case a2a.TaskStateCompleted:
				completed++
				if status != http.StatusBadRequest {
					t.Errorf("completed, and the cancel got %d", status)
				}
			case a2a.TaskStateCanceled:
				canceled++
				if status != http.StatusOK || answer.Status.State != a2a.TaskStateCanceled {
					t.Errorf("canceled, and the cancel got %d %s", status, answer.Status.State)
				}
			default:
				t.Errorf("ended as %s", ended.Status.State)
			}
			w.verify(id)
		})
	}
	t.Logf("%d rounds: %d completed, %d canceled", rounds, completed, canceled)
	if completed*10 < rounds || canceled*10 < rounds {
		t.Errorf("an outcome was seen in less than 10%% of the rounds")
	}
}
