package agent_test

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// example stands where a test has its *testing.T.
type example struct{ agenttest.TB }

func (example) Helper()                           {}
func (example) Cleanup(func())                    {}
func (example) Context() context.Context          { return context.Background() }
func (example) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// text is a part with text.
func text(s string) *a2a.Part { return a2a.NewTextPart(s) }

type greeting struct{ Name string }

// An agent is a table of steps over one typed state. What a step returns says what
// comes next.
func Example() {
	greeter := agent.New("greeter", 1,
		agent.Step[greeting]{Name: "listen", Run: func(_ context.Context, t *agent.Task[greeting]) (agent.Next, error) {
			t.State.Name = agent.Text(t.Message)
			return agent.Continue("greet"), nil
		}},
		agent.Step[greeting]{Name: "greet", Run: func(_ context.Context, t *agent.Task[greeting]) (agent.Next, error) {
			return agent.Complete("Hello, " + t.State.Name + "!"), nil
		}},
	)

	// In a test, t takes the place of example{}.
	run := agenttest.Start(example{}, greeter, "Ada").WantCompleted("Hello, Ada!")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Ada"
	// listen      continues with greet
	// greet       completed: "Hello, Ada!"
}
