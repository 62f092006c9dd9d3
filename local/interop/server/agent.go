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

const (
	// tick is the time between two numbers of a count: long enough to cut a stream in
	// the middle, short enough to wait for the end.
	tick = 50 * time.Millisecond
	// countTime is more than the longest count that is not canceled.
	countTime = 10 * time.Minute
	// maxPayload is how many parts fit one commit as chunks.
	maxPayload = 40
)

// told is what the agent carries along.
type told struct {
	At int `json:"at"`
	To int `json:"to"`
}

// shows is the agent. The first text of a message says what it shows:
//
//	echo      gives the other parts back, as the chunks of one artifact
//	write     writes an artifact in two revisions and several chunks, and another beside it
//	count N   counts to N: each 50 ms a commit with the number as progress and as a chunk
//	quiet N   says nothing for N seconds
//	ask       asks for a city, and gives the answer back
//	fail      fails
//	reject    declines the work
var shows = agent.New("interop", 1,
	agent.Step[told]{Name: "begin", Run: begin},
	agent.Step[told]{Name: "echo", Run: echo},
	agent.Step[told]{Name: "write", Run: write},
	agent.Step[told]{Name: "count", Run: count, Timeout: countTime},
	agent.Step[told]{Name: "quiet", Run: quiet},
	agent.Step[told]{Name: "answered", Run: answered},
).Describe(agent.Card{
	Description: "Shows whatever an A2A client may meet.",
	Skills: []a2a.AgentSkill{{
		ID: "show", Name: "Show", Description: "Shows what the first text of a message names.",
		Tags: []string{"test"}, Examples: []string{"count 10"},
	}},
	InputModes:  []string{"text/plain", "application/json", "application/octet-stream"},
	OutputModes: []string{"text/plain", "application/json", "application/octet-stream"},
}).Validate(validate).KeyedByMessageID()

// order is what the first part of a message asks for.
func order(m *a2a.Message) (verb string, n int) {
	words := strings.Fields(m.Parts[0].Text())
	if len(words) == 0 {
		return "", 0
	}
	if len(words) > 1 {
		n, _ = strconv.Atoi(words[1]) // 0: no number
	}
	return words[0], n
}

func validate(m *a2a.Message) error {
	verb, n := order(m)
	switch verb {
	case "echo":
		if len(m.Parts) < 2 || len(m.Parts) > maxPayload {
			return fmt.Errorf("echo needs 1 to %d parts after the first", maxPayload-1)
		}
	case "count", "quiet":
		if n < 1 {
			return fmt.Errorf("%s needs a number", verb)
		}
	case "write", "ask", "fail", "reject":
	default:
		return fmt.Errorf("no such order: %q", verb)
	}
	return nil
}

func begin(_ context.Context, t *agent.Task[told]) (agent.Next, error) {
	verb, n := order(t.Message)
	t.State.To = n
	switch verb {
	case "ask":
		return agent.Pause("Which city?", "answered"), nil
	case "fail":
		return agent.Next{}, agent.Permanent(errors.New("as was asked for"))
	case "reject":
		return agent.Reject("as was asked for"), nil
	}
	return agent.Continue(verb), nil
}

func echo(_ context.Context, t *agent.Task[told]) (agent.Next, error) {
	payload := t.Message.Parts[1:]
	text := agent.Text(&a2a.Message{Parts: payload})
	if text != "" {
		t.Report(text)
	}
	for i, part := range payload {
		t.Emit(agent.Chunk{Artifact: "echo", Name: "What was sent", Append: i > 0, Last: i == len(payload)-1, Part: part})
	}
	return agent.Complete(text), nil
}

// write opens the artifact twice, so that a client must replace the first
// revision; the second one grows while another artifact stands beside it.
func write(ctx context.Context, t *agent.Task[told]) (agent.Next, error) {
	if t.Progress("draft").Revision == 0 {
		t.Emit(agent.Chunk{Artifact: "draft", Name: "Draft", Last: true, Part: a2a.NewTextPart("crossed out")})
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	lines := []string{"one\n", "two\n", "three\n", "four\n", "five\n"}
	if t.Progress("draft").Revision == 2 {
		t.State.At = t.Progress("draft").Chunks
	}
	for i := t.State.At; i < len(lines); i++ {
		t.Emit(agent.Chunk{
			Artifact: "draft", Name: "Draft", Description: "In five lines",
			Append: i > 0, Last: i == len(lines)-1, Part: a2a.NewTextPart(lines[i]),
		})
		if i == 2 {
			t.Report("half way")
			t.Emit(agent.Chunk{Artifact: "figures", Name: "Figures", Last: true, Part: a2a.NewDataPart(map[string]any{"lines": 5, "none": nil, "list": []any{nil, true, "x"}})})
		}
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Complete("Written"), nil
}

func count(ctx context.Context, t *agent.Task[told]) (agent.Next, error) {
	for t.State.At < t.State.To {
		if err := pass(ctx, tick); err != nil {
			return agent.Next{}, err
		}
		t.State.At++
		number := strconv.Itoa(t.State.At)
		t.Report(number)
		t.Emit(agent.Chunk{Artifact: "numbers", Name: "Numbers", Append: t.State.At > 1, Last: t.State.At == t.State.To, Part: a2a.NewTextPart(number)})
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Complete(fmt.Sprintf("Counted to %d", t.State.To)), nil
}

func quiet(ctx context.Context, t *agent.Task[told]) (agent.Next, error) {
	if err := pass(ctx, time.Duration(t.State.To)*time.Second); err != nil {
		return agent.Next{}, err
	}
	return agent.Complete("Nothing to say"), nil
}

func answered(_ context.Context, t *agent.Task[told]) (agent.Next, error) {
	text := agent.Text(t.Message)
	t.Emit(agent.Chunk{Artifact: "answer", Name: "Answer", Last: true, Part: a2a.NewTextPart(text)})
	return agent.Complete("You said " + text), nil
}

// pass lets time pass.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
