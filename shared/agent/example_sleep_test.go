package agent_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// A sleep holds no process and survives all of them.
func ExampleSleep() {
	reminder := agent.New("reminder", 1,
		agent.Step[int]{Name: "note", Run: func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			t.Report("I will remind you tomorrow")
			return agent.Sleep(24*time.Hour, "remind"), nil
		}},
		agent.Step[int]{Name: "remind", Run: func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			return agent.Complete("Remember: " + agent.Text(t.Message)), nil
		}},
	)

	run := agenttest.Start(example{}, reminder, "water the plants").
		WantReport("I will remind you …").
		WantSleep(24 * time.Hour).
		WantCompleted("Remember: water the plants")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "water the plants"
	// note        reports "I will remind you tomorrow"
	// note        sleeps for 24h0m0s
	// remind      completed: "Remember: water the plants"
}
