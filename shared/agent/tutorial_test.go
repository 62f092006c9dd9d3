package agent_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// What follows is the README's tutorial, letter by letter; TestTutorial holds one against
// the other.

type trip struct{ City, Booking string }

var Travel = agent.New("travel", 1,
	agent.Step[trip]{Name: "where", Run: where},
	agent.Step[trip]{Name: "book", Run: book, Timeout: time.Minute},
).Describe(agent.Card{Description: "Books a hotel in a city."}).KeyedByMessageID()

func where(ctx context.Context, t *agent.Task[trip]) (agent.Next, error) {
	return agent.Pause("Which city?", "book", agent.For(24*time.Hour)), nil
}

func book(ctx context.Context, t *agent.Task[trip]) (agent.Next, error) {
	t.State.City = agent.Text(t.Message)
	ref, err := agent.Effect(ctx, t, "reserve", func(ctx context.Context, key string) (string, error) {
		return hotel.Reserve(ctx, key, t.State.City) // the key makes the hotel's side idempotent
	})
	if err != nil {
		return agent.Next{}, err // tried again; wrap in agent.Permanent to end the task
	}
	t.State.Booking = ref
	return agent.Complete("Booked " + ref), nil
}

func TestTravel(t *testing.T) {
	agenttest.Start(t, Travel, "Plan a trip").
		WantPause("Which city?").
		CrashBeforeCommit("book").
		Reply("Oslo").
		WantCompleted("Booked …").
		WantCalls("reserve", 1)
	if Travel.Card().Description == "" || !Travel.Keyed() {
		t.Error("the tutorial's agent has no card, or does not take messageId as the key")
	}
}

// reception is the hotel's side.
type reception struct{}

var hotel reception

func (reception) Reserve(_ context.Context, key, city string) (string, error) {
	return "a room in " + city + " under " + key, nil
}

// The code that the README and the package comment show is the code above.
func TestTutorial(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	source := read("tutorial_test.go")
	var blocks []string
	for i, part := range strings.Split(read("../../README.md"), "```go\n") {
		if block, _, closed := strings.Cut(part, "```"); i > 0 && closed {
			blocks = append(blocks, block)
		}
	}
	var comment strings.Builder
	shown, _, _ := strings.Cut(read("doc.go"), "# Guarantees")
	for line := range strings.Lines(shown) {
		switch code, is := strings.CutPrefix(line, "//\t"); {
		case is:
			comment.WriteString(code)
		case line == "//\n" && comment.Len() > 0:
			comment.WriteString("\n")
		}
	}
	for _, block := range append(blocks, strings.TrimRight(comment.String(), "\n")) {
		indented := "\t" + strings.ReplaceAll(strings.TrimRight(block, "\n"), "\n", "\n\t")
		if block == "" || !strings.Contains(source, block) && !strings.Contains(source, indented) {
			t.Errorf("this is not what is tested:\n%s", block)
		}
	}
	if len(blocks) != 2 {
		t.Errorf("%d blocks of Go in the README, want the agent and its test", len(blocks))
	}
}
