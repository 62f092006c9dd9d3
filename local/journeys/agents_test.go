package journeys_test

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// note is the state of the test agents.
type note struct {
	Said string
	N    int
}

// asker asks one question, and completes with the answer. Its effect says how
// often somebody was told.
func asker(tell func(key string)) *agent.Agent {
	return agent.New("asker", 1,
		agent.Step[note]{Name: "ask", Run: func(_ context.Context, _ *agent.Task[note]) (agent.Next, error) {
			return agent.Pause("Which city?", "tell", agent.For(time.Hour)), nil
		}},
		agent.Step[note]{Name: "tell", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			t.State.Said = agent.Text(t.Message)
			_, err := agent.Effect(ctx, t, "tell", func(_ context.Context, key string) (string, error) {
				tell(key)
				return "told", nil
			})
			if err != nil {
				return agent.Next{}, err
			}
			return agent.Complete("You said " + t.State.Said), nil
		}},
	).KeyedByMessageID()
}

// slow works for as many seconds as its message says, in one step, and then emits
// two chunks and completes.
func slow() *agent.Agent {
	return agent.New("slow", 1, agent.Step[note]{Name: "work", Timeout: 12 * time.Minute, Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
		var seconds int
		if _, err := fmt.Sscanf(agent.Text(t.Message), "%d", &seconds); err != nil {
			return agent.Next{}, agent.Permanent(err)
		}
		select {
		case <-time.NewTimer(time.Duration(seconds) * time.Second).C:
		case <-ctx.Done():
			return agent.Next{}, ctx.Err()
		}
		for i := range 4 {
			t.Report(fmt.Sprintf("part %d", i+1))
			t.Emit(agent.Chunk{Artifact: "out", Append: i > 0, Last: i == 3, Part: a2a.NewTextPart(fmt.Sprintf("piece %d;", i+1))})
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
		return agent.Complete("done"), nil
	}}).KeyedByMessageID()
}

func send(id, text string, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s},"configuration":{"returnImmediately":true}}`, id, text, more)
}
