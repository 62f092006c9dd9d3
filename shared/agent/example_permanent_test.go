package agent_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// An error is tried again. One that no further attempt can mend is marked, and
// fails the task with its text.
func ExamplePermanent() {
	errGone := errors.New("the account is closed")
	charger := agent.New("charger", 1,
		agent.Step[int]{Name: "charge", Run: func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			if t.Attempt < 3 {
				return agent.Next{}, errors.New("the bank is busy")
			}
			return agent.Next{}, agent.Permanent(fmt.Errorf("cannot charge: %w", errGone))
		}, Retry: agent.Retry{First: time.Second, Factor: 3}},
	)

	run := agenttest.Start(example{}, charger, "Charge 5 EUR").
		WantFailed("cannot charge: the account is closed")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Charge 5 EUR"
	// charge      attempt 1 failed: the bank is busy (again after 1s)
	// charge      attempt 2 failed: the bank is busy (again after 3s)
	// charge      failed: "Step \"charge\" failed: cannot charge: the account is closed"
}
