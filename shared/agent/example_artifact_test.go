package agent_test

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// Chunks are committed together with the state. A rerun finds in Progress how far
// the artifact had got and goes on from there.
func ExampleTask_Emit() {
	lines := []string{"one\n", "two\n", "three\n"}
	writer := agent.New("writer", 1,
		agent.Step[int]{Name: "write", Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
			for i := t.Progress("list").Chunks; i < len(lines); i++ {
				t.Emit(agent.Chunk{Artifact: "list", Append: i > 0, Last: i == len(lines)-1, Part: text(lines[i])})
				if err := t.Commit(ctx); err != nil {
					return agent.Next{}, err
				}
			}
			return agent.Complete("Written"), nil
		}},
	)

	run := agenttest.Start(example{}, writer, "Write").
		CrashAfterCommit("write").CrashBeforeCommit("write").
		WantCompleted("Written").
		WantArtifact("list", "one\ntwo\nthree\n")
	fmt.Print(run.Transcript())
	// Output:
	// submission  "Write"
	// process     dies before the commit of write
	// write       opens artifact list: "one\n"
	// write       commits a sub-step
	// process     dies after the commit of write
	// write       appends to artifact list: "two\n"
	// write       commits a sub-step
	// write       appends to and seals artifact list: "three\n"
	// write       commits a sub-step
	// write       completed: "Written"
}
