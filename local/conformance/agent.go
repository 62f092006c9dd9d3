package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// longRun is twice the kit's streaming timeout of two seconds: a task that is
// still at work when a test subscribes to it.
const longRun = 4 * time.Second

// played is the agent's state: what the kit asked for.
type played struct {
	Prefix string `json:"prefix,omitempty"`
}

// scene is what the agent does for one prefix of messageId.
type scene struct {
	prefix string
	play   func(context.Context, *agent.Task[played]) (agent.Next, error)
}

// scenes are the kit's scenario files. The first prefix that fits decides, so a
// longer one stands before the shorter one that it begins with.
//
// The messageId is no submission key here: the kit sends one many times and wants
// a new task each time.
func scenes() []scene {
	return []scene{
		{"tck-complete-task", complete("Hello from TCK")},
		{"tck-artifact-text", artifact(a2a.NewTextPart("Generated text content"))},
		{"tck-artifact-file-url", artifact(linked("https://example.com/output.txt"))},
		{"tck-artifact-file", artifact(file())},
		{"tck-artifact-data", artifact(a2a.NewDataPart(map[string]any{"key": "value", "count": 42}))},
		// Every message of ours begins a task (§3.1.1 allows either), so the answer is
		// the task's closing message.
		{"tck-message-response", complete("Direct message response")},
		{"tck-input-required", ask},
		{"tck-reject-task", reject},
		{"tck-stream-001", artifact(a2a.NewTextPart("Stream hello from TCK"))},
		{"tck-stream-002", complete("")},
		{"tck-stream-003", artifact(a2a.NewTextPart("Stream task lifecycle"))},
		{"tck-stream-ordering-001", artifact(a2a.NewTextPart("Ordered output"))},
		{"tck-stream-artifact-text", artifact(a2a.NewTextPart("Streamed text content"))},
		{"tck-stream-artifact-file", artifact(file())},
		{"tck-stream-artifact-chunked", chunked},
		{"test-resubscribe-message-id", wait},
	}
}

// Tester is the test agent: what it does follows from the messageId alone.
var Tester = tester("tester", agent.Card{ExtendedSkills: []a2a.AgentSkill{{
	ID: "extended", Name: "Extended", Description: "Is on the extended card, and does nothing.", Tags: []string{"conformance"},
}}})

// Plain is the same agent without an extended card, for the kit's test of its
// refusal.
var Plain = tester("plain", agent.Card{})

// Strict is the same agent with the extension that one of the kit's tests wants to
// be required; every other request of the kit would be refused.
var Strict = tester("strict", agent.Card{Extensions: []a2a.AgentExtension{{
	URI: "urn:a2a:tck:required-extension", Description: "Required, so that a request without it is refused.", Required: true,
}}})

func tester(name string, card agent.Card) *agent.Agent {
	card.Description = "Does what the scenarios of the conformance kit ask for, by the beginning of the messageId."
	card.Skills = []a2a.AgentSkill{{
		ID: "scenarios", Name: "Scenarios", Description: "Plays a scenario of the conformance kit.",
		Tags: []string{"conformance"}, Examples: []string{"Hello from TCK"},
	}}
	card.InputModes, card.OutputModes = []string{"text/plain", "application/json"}, []string{"text/plain", "application/json"}
	return agent.New(name, 1,
		agent.Step[played]{Name: "play", Run: play},
		agent.Step[played]{Name: "end", Run: complete("")},
	).Describe(card)
}

// play looks the scene up. A reply is played like a first message.
func play(ctx context.Context, t *agent.Task[played]) (agent.Next, error) {
	for _, s := range scenes() {
		if strings.HasPrefix(t.Message.ID, s.prefix) {
			t.State.Prefix = s.prefix
			return s.play(ctx, t)
		}
	}
	return agent.Complete(fmt.Sprintf("No scene begins with %q.", t.Message.ID)), nil
}

func complete(text string) func(context.Context, *agent.Task[played]) (agent.Next, error) {
	return func(context.Context, *agent.Task[played]) (agent.Next, error) { return agent.Complete(text), nil }
}

func artifact(part *a2a.Part) func(context.Context, *agent.Task[played]) (agent.Next, error) {
	return func(_ context.Context, t *agent.Task[played]) (agent.Next, error) {
		t.Emit(agent.Chunk{Artifact: "output", Name: "output", Part: part, Last: true})
		return agent.Complete(""), nil
	}
}

func chunked(ctx context.Context, t *agent.Task[played]) (agent.Next, error) {
	if t.Progress("output").Chunks == 0 {
		t.Emit(agent.Chunk{Artifact: "output", Name: "output", Part: a2a.NewTextPart("chunk-1 ")})
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	t.Emit(agent.Chunk{Artifact: "output", Append: true, Last: true, Part: a2a.NewTextPart("chunk-2")})
	return agent.Complete(""), nil
}

func ask(context.Context, *agent.Task[played]) (agent.Next, error) {
	return agent.Pause("Which scene comes next?", "play"), nil
}

func reject(context.Context, *agent.Task[played]) (agent.Next, error) {
	return agent.Reject("rejected"), nil
}

func wait(context.Context, *agent.Task[played]) (agent.Next, error) {
	return agent.Sleep(longRun, "end"), nil
}

func file() *a2a.Part {
	return &a2a.Part{Content: a2a.Raw("tck"), Filename: "output.txt", MediaType: "text/plain"}
}

func linked(url string) *a2a.Part {
	return &a2a.Part{Content: a2a.URL(url), Filename: "output.txt", MediaType: "text/plain"}
}
