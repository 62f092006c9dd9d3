package main

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

type state struct {
	Paid  string
	Slept bool
}

// held makes a call that comes back without an answer, and leaves it to an operator to
// find out what became of it.
var held = agent.New("held", 1,
	agent.Step[state]{Name: "pay", Run: func(ctx context.Context, t *agent.Task[state]) (agent.Next, error) {
		paid, err := agent.Effect(ctx, t, "pay", func(context.Context, string) (string, error) {
			return "", errors.New("the line went dead")
		}, agent.Hold())
		if err != nil {
			return agent.Next{}, err
		}
		return agent.Complete("Paid: " + paid), nil
	}},
).KeyedByMessageID()

// capitals is worked on outside.
var capitals = agent.Outside("capitals", 1, agent.Card{Description: "Served from outside."}).KeyedByMessageID()

// twoSteps sleeps between its steps, so that it has a checkpoint to come back to.
func twoSteps(version int) *agent.Agent {
	return agent.New("two-steps", version,
		agent.Step[state]{Name: "first", Run: func(_ context.Context, t *agent.Task[state]) (agent.Next, error) {
			t.State.Slept = true
			return agent.Sleep(2*time.Second, "second"), nil
		}},
		agent.Step[state]{Name: "second", Run: func(context.Context, *agent.Task[state]) (agent.Next, error) {
			return agent.Complete("Done."), nil
		}},
	).KeyedByMessageID()
}
