// Package hello is the smallest agent: it greets, and counts when it is asked to.
//
// A text that begins with "count N" makes it count to N, one number a second, so
// that a stream can be watched, cut and resumed, and a task canceled. To any other
// text it says hello.
package hello

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

// maxCount is how far it counts: a number is two entries of a task's ledger, and a
// quarter of an hour is enough to try anything.
const maxCount = 1000

// counting is the agent's state.
type counting struct {
	At int `json:"at"`
	To int `json:"to"`
}

// Agent is the agent.
var Agent = agent.New("hello", 1,
	agent.Step[counting]{Name: "greet", Run: greet},
	agent.Step[counting]{Name: "count", Run: count},
).Describe(agent.Card{
	Description: "Says hello, and counts when asked to: the smallest agent that can be watched, cut off, resumed and canceled.",
	Skills: []a2a.AgentSkill{{
		ID: "greet", Name: "Greet", Description: "Greets whoever the message names.",
		Tags: []string{"example"}, Examples: []string{"world"},
	}, {
		ID: "count", Name: "Count", Description: fmt.Sprintf("Counts to a number of at most %d, one a second.", maxCount),
		Tags: []string{"example", "streaming"}, Examples: []string{"count 10"},
	}},
}).Validate(validate).KeyedByMessageID()

func greet(_ context.Context, t *agent.Task[counting]) (agent.Next, error) {
	text := agent.Text(t.Message)
	if to, ok := asksToCount(text); ok {
		t.State.To = to
		return agent.Continue("count"), nil
	}
	return agent.Complete("Hello, " + strings.TrimSpace(text) + "!"), nil
}

func count(_ context.Context, t *agent.Task[counting]) (agent.Next, error) {
	t.State.At++
	t.Report(strconv.Itoa(t.State.At))
	if t.State.At >= t.State.To {
		return agent.Complete(fmt.Sprintf("Counted to %d.", t.State.To)), nil
	}
	return agent.Sleep(time.Second, "count"), nil
}

func validate(m *a2a.Message) error {
	text := agent.Text(m)
	if strings.TrimSpace(text) == "" {
		return errors.New("send a text: a name to greet, or \"count 10\"")
	}
	if to, ok := asksToCount(text); ok && (to < 1 || to > maxCount) {
		return fmt.Errorf("it counts to a number from 1 to %d, not to %d", maxCount, to)
	}
	return nil
}

// asksToCount says whether a text begins with "count" and a whole number.
func asksToCount(text string) (to int, ok bool) {
	words := strings.Fields(text)
	if len(words) < 2 || !strings.EqualFold(words[0], "count") {
		return 0, false
	}
	to, err := strconv.Atoi(words[1])
	if errors.Is(err, strconv.ErrRange) {
		return maxCount + 1, true
	}
	return to, err == nil
}
