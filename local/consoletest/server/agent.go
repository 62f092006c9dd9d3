package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// tick is the time between two numbers of a count.
const tick = 250 * time.Millisecond

// told is what the agent carries along.
type told struct {
	Verb string `json:"verb"`
	Rest string `json:"rest"`
	At   int    `json:"at"`
}

// desk is the agent. The first word of a message says what it gets into:
//
//	say TEXT    completes, with the text as an artifact
//	ask TEXT    asks that, and completes with the answer
//	approve     waits for an authorization receipt
//	count N     counts, with progress and an artifact that grows
//	draft TEXT  leaves an artifact open, and sleeps
//	pay TEXT    calls outside, gets no answer, and holds the effect for an operator
//	fail TEXT   fails for good
//	reject      declines
func desk(version int) *agent.Agent {
	return agent.New("desk", version,
		agent.Step[told]{Name: "begin", Run: begin},
		agent.Step[told]{Name: "answered", Run: answered},
		agent.Step[told]{Name: "count", Run: count, Timeout: 10 * time.Minute},
		agent.Step[told]{Name: "pay", Run: pay},
		agent.Step[told]{Name: "end", Run: end},
	).Describe(agent.Card{Description: "Gets into whatever an operator may meet."}).KeyedByMessageID()
}

func begin(_ context.Context, t *agent.Task[told]) (agent.Next, error) {
	t.State.Verb, t.State.Rest, _ = strings.Cut(agent.Text(t.Message), " ")
	rest := t.State.Rest
	switch t.State.Verb {
	case "ask":
		return agent.Pause(rest, "answered", agent.For(24*time.Hour)), nil
	case "approve":
		return agent.Authorize("revoke 14 grants", "May I revoke 14 grants?", "end"), nil
	case "count":
		return agent.Continue("count"), nil
	case "draft":
		t.Emit(agent.Chunk{Artifact: "draft", Name: "Draft", Part: a2a.NewTextPart(rest)})
		return agent.Sleep(time.Hour, "end"), nil
	case "pay":
		return agent.Continue("pay"), nil
	case "fail":
		return agent.Next{}, agent.Permanent(errors.New(rest))
	case "reject":
		return agent.Reject("Not my trade."), nil
	}
	t.Report(rest)
	t.Emit(agent.Chunk{Artifact: "said", Name: rest, Last: true, Part: a2a.NewTextPart(rest)})
	return agent.Complete(rest), nil
}

func answered(_ context.Context, t *agent.Task[told]) (agent.Next, error) {
	return agent.Complete("You said " + agent.Text(t.Message)), nil
}

func count(ctx context.Context, t *agent.Task[told]) (agent.Next, error) {
	to, _ := strconv.Atoi(t.State.Rest)
	for t.State.At < to {
		timer := time.NewTimer(tick)
		select {
		case <-ctx.Done():
			timer.Stop()
			return agent.Next{}, ctx.Err()
		case <-timer.C:
		}
		t.State.At++
		t.Report(fmt.Sprintf("%d of %d", t.State.At, to))
		t.Emit(agent.Chunk{Artifact: "numbers", Name: "Numbers", Append: t.State.At > 1, Last: t.State.At == to, Part: a2a.NewTextPart(strconv.Itoa(t.State.At) + "\n")})
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Complete("Counted to " + t.State.Rest), nil
}

func pay(ctx context.Context, t *agent.Task[told]) (agent.Next, error) {
	receipt, err := agent.Effect(ctx, t, "transfer", func(context.Context, string) (string, error) {
		return "", errors.New("connection reset: " + t.State.Rest)
	}, agent.Hold(), agent.Request(t.State.Rest))
	if err != nil {
		return agent.Next{}, err
	}
	return agent.Complete("Paid, " + receipt), nil
}

func end(_ context.Context, _ *agent.Task[told]) (agent.Next, error) {
	return agent.Complete("Done"), nil
}
