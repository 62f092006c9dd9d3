package agent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// A recorded effect is never called again, whatever happens to the process after
// it. The other side gets a key by which it recognises a repetition.
func ExampleEffect() {
	reserve := func(_ context.Context, key string) (string, error) {
		fmt.Println("hotel: reserved under", key)
		return "R1", nil
	}
	booker := agent.New("booker", 1,
		agent.Step[string]{Name: "book", Run: func(ctx context.Context, t *agent.Task[string]) (agent.Next, error) {
			ref, err := agent.Effect(ctx, t, "reserve", reserve, agent.Request(agent.Text(t.Message)))
			if err != nil {
				return agent.Next{}, err // tried again
			}
			return agent.Complete("Booked " + ref), nil
		}},
	)

	run := agenttest.Start(example{}, booker, "Oslo").
		CrashBeforeCommit("book").
		WantCompleted("Booked R1").
		WantCalls("reserve", 1)
	fmt.Print(run.Transcript())
	// Output:
	// hotel: reserved under task:1:reserve
	// submission  "Oslo"
	// book        calls reserve
	// book        records reserve: "R1"
	// process     dies before the commit of book
	// book        finds reserve recorded: "R1"
	// book        completed: "Booked R1"
}

// A process that dies between a call and its record leaves the effect in doubt. An
// other side that cannot recognise a repetition can perhaps be asked.
func ExampleReconcile() {
	ledger := map[string]string{}
	transfer := func(_ context.Context, key string) (string, error) {
		ledger[key] = "T1"
		return "T1", nil
	}
	find := func(_ context.Context, key string) (string, bool, error) {
		ref, found := ledger[key]
		return ref, found, nil
	}
	bank := agent.New("bank", 1,
		agent.Step[int]{Name: "pay", Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
			ref, err := agent.Effect(ctx, t, "transfer", transfer, agent.Reconcile(find))
			return agent.Complete("Paid with " + ref), err
		}},
	)

	run := agenttest.Start(example{}, bank, "Pay").
		CrashAfterCall("transfer").
		WantCompleted("Paid with T1").
		WantCalls("transfer", 1)
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Pay"
	// pay         calls transfer
	// process     dies after the call of transfer
	// pay         waits: effect "transfer" is in doubt until 2100-01-01T00:00:30Z
	// pay         asks what became of transfer
	// pay         records transfer: "T1"
	// pay         finds transfer recorded: "T1"
	// pay         completed: "Paid with T1"
}

// Where nobody can be asked either, an operator decides.
func ExampleHold() {
	fax := agent.New("fax", 1,
		agent.Step[int]{Name: "send", Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
			_, err := agent.Effect(ctx, t, "fax", func(context.Context, string) (int, error) {
				return 0, errors.New("the line broke")
			}, agent.Hold())
			return agent.Complete("Sent"), err
		}},
	)

	run := agenttest.Start(example{}, fax, "Send it").
		WantHeld("fax").
		SettleDone("fax", 1).
		WantCompleted("Sent").
		WantCalls("fax", 1)
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Send it"
	// send        calls fax
	// send        cannot tell what became of fax
	// send        attempt 1 failed: the line broke (again after 1s)
	// send        waits: effect "fax" is in doubt and held for an operator
	// operator    settles fax as done: 1
	// send        finds fax recorded: 1
	// send        completed: "Sent"
}
