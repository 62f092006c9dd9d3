package agent_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// A question ends a step, and the reply is found by the next one. A loop of
// questions is a step that names itself.
func ExamplePause() {
	ask := func(context.Context, *agent.Task[int]) (agent.Next, error) {
		return agent.Pause("Delete all data? (yes or no)", "decide", agent.For(24*time.Hour), agent.ByName()), nil
	}
	decide := func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		switch strings.ToLower(agent.Text(t.Message)) {
		case "yes":
			return agent.Complete("Deleted"), nil
		case "no":
			return agent.Reject("Nothing was deleted"), nil
		}
		return agent.Continue("ask"), nil
	}
	cleaner := agent.New("cleaner", 1,
		agent.Step[int]{Name: "ask", Run: ask},
		agent.Step[int]{Name: "decide", Run: decide},
	)

	run := agenttest.Start(example{}, cleaner, "Clean up").
		WantPause("Delete all data? …").
		Reply("maybe").
		WantPause("Delete all data? …").
		Reply("no").
		WantRejected("Nothing was deleted")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Clean up"
	// ask         paused: "Delete all data? (yes or no)"
	// caller      replies "maybe"
	// decide      continues with ask
	// ask         paused: "Delete all data? (yes or no)"
	// caller      replies "no"
	// decide      rejected: "Nothing was deleted"
}

// A pause for authorization is left with a receipt only. What the caller writes
// meanwhile authorizes nothing.
func ExampleAuthorize() {
	payer := agent.New("payer", 1,
		agent.Step[int]{Name: "ask", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Authorize("pay 100 EUR", "May I pay the bill?", "pay", agent.By("treasury")), nil
		}},
		agent.Step[int]{Name: "pay", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Complete("Paid"), nil
		}},
	)

	run := agenttest.Start(example{}, payer, "Pay the bill").
		WantAuthorization("pay 100 EUR").
		Reply("Sure!").
		WantAuthorization("pay 100 EUR").
		Authorize().
		WantCompleted("Paid")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Pay the bill"
	// ask         waits for authorization of "pay 100 EUR": "May I pay the bill?"
	// caller      writes "Sure!"
	// caller      authorizes "pay 100 EUR"
	// pay         completed: "Paid"
}
