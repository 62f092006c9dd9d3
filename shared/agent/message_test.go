package agent_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		title string
		m     *a2a.Message
		want  string
	}{
		{"no message", nil, ""},
		{"no parts", &a2a.Message{}, ""},
		{"one part", agent.Say("a"), "a"},
		{"several parts", a2a.NewMessage(a2a.MessageRoleUser, text("a"), a2a.NewRawPart([]byte("x")), text(""), text("b\nc"), a2a.NewDataPart(1)), "a\nb\nc"},
	} {
		if got := agent.Text(c.m); got != c.want {
			t.Errorf("%s: %q, want %q", c.title, got, c.want)
		}
	}
}

// What could be written and not be read back would make a whole task unreadable.
func TestPartsWithoutContentAreRefused(t *testing.T) {
	for _, c := range []struct {
		title string
		part  *a2a.Part
		want  string
	}{
		{"no part", nil, "part 2 of a message: the part has no content"},
		{"empty part", &a2a.Part{}, "part 2 of a message: the part has no content"},
		{"no bytes", a2a.NewRawPart(nil), "part 2 of a message: the part has no content"},
		{"no data", a2a.NewDataPart(nil), "part 2 of a message: the part has no content"},
		{"no address", a2a.NewFileURLPart("", ""), "part 2 of a message: the part has no content"},
		{"unstorable data", a2a.NewDataPart(make(chan int)), "part 2 of a message: the data cannot be stored: …"},
	} {
		t.Run(c.title, func(t *testing.T) {
			m := a2a.NewMessage(a2a.MessageRoleAgent, text("a"), c.part)
			report := one(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
				t.ReportWith(m)
				return agent.Complete("Done"), nil
			})
			agenttest.Start(t, report, "go").WantFailed(c.want)
			question := one(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.PauseWith(m, "only"), nil })
			agenttest.Start(t, question, "go").WantFailed(c.want)
		})
	}
	empty := one(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		t.ReportWith(nil)
		return agent.Complete("Done"), t.Commit(context.Background())
	})
	agenttest.Start(t, empty, "go").WantFailed("a message needs at least one part")
	whole := one(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		t.ReportWith(a2a.NewMessage("", text(""), a2a.NewRawPart([]byte{}), a2a.NewDataPart(map[string]any{}), a2a.NewFileURLPart("https://example.com", "")))
		return agent.Complete(""), nil
	})
	agenttest.Start(t, whole, "go").WantCompleted("")
}
