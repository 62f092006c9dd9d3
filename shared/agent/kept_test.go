package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

type (
	pieces struct {
		Text  string
		List  []map[string]*pieces // of itself
		When  time.Time
		Large *big.Int
		Raw   json.RawMessage
		Any   any
		Parts []*a2a.Part
		Years map[int]bool
		inner
		cache func() `json:"-"` //nolint:unused // what may be lost
	}
	inner  struct{ Deep [2]bool }
	hidden struct{ id, Name string }
	nested struct{ List []map[string]*hidden }
	shape  interface{ Area() float64 }
)

// What encoding/json would lose between two steps is refused where the agent is made.
func TestStateIsKept(t *testing.T) {
	if said := making[pieces](); said != "" {
		t.Errorf("a state that is kept: %s", said)
	}
	for want, said := range map[string]string{
		"agent_test.hidden.id is not exported":                            making[hidden](),
		"agent_test.nested.List[][].id is not exported":                   making[nested](),
		"url.URL.User.username is not exported":                           making[url.URL](),
		"struct { F func() }.F is a func":                                 making[struct{ F func() }](),
		"[]chan int[] is a chan":                                          making[[]chan int](),
		"struct { S agent_test.shape }.S is the interface":                making[struct{ S shape }](),
		"map[float64]string has keys of float64":                          making[map[float64]string](),
		"map[struct { X int }]bool has keys of struct { X int }":          making[map[struct{ X int }]bool](),
		"*complex128 is a complex128":                                     making[*complex128](),
		"struct { agent_test.hidden }.id is not exported, so encoding/js": making[struct{ hidden }](),
	} {
		if !strings.HasPrefix(said, `agent "one" version 1: its state: `+want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
}

// making is what is said of an agent with a state when it is made.
func making[S any]() (said string) {
	defer func() {
		if r := recover(); r != nil {
			said = fmt.Sprint(r)
		}
	}()
	agent.New("one", 1, agent.Step[S]{Name: "only", Run: func(context.Context, *agent.Task[S]) (agent.Next, error) { return agent.Complete(""), nil }})
	return ""
}

// A result that cannot be kept is found out before the call.
func TestResultIsKept(t *testing.T) {
	a := agent.New("one", 1, agent.Step[int]{Name: "only", Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		_, err := agent.Effect(ctx, t, "pay", func(context.Context, string) (hidden, error) { return hidden{"1", "a"}, nil })
		return agent.Complete("Done"), err
	}})
	agenttest.Start(t, a, "go").WantFailed(`the result of effect "pay" cannot be stored: agent_test.hidden.id is not exported…`).WantCalls("pay", 0)
}

// The step that makes a call sees what a rerun of it will: the record.
func TestResultIsTheRecord(t *testing.T) {
	type receipt struct {
		At   time.Time
		Note string `json:"-"`
	}
	local := time.FixedZone("", 3600)
	var seen []string
	a := agent.New("one", 1, agent.Step[int]{Name: "only", Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		r, err := agent.Effect(ctx, t, "pay", func(context.Context, string) (receipt, error) {
			return receipt{time.Date(2026, 3, 2, 9, 0, 0, 0, local), "lost"}, nil
		})
		if err == nil {
			seen = append(seen, fmt.Sprint(r.At, r.Note))
		}
		return agent.Complete("Done"), err
	}})
	agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) { agenttest.Start(t, a, "go").CrashAt(t).WantCompleted("Done") })
	for _, s := range seen {
		if s != seen[0] || strings.Contains(s, "lost") {
			t.Errorf("saw %q, and before that %q", s, seen[0])
		}
	}
}
