package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// An invocation is long enough for the longest step of any version in the catalog,
// with the reserve on top, and never shorter than configured.
func TestInvocationCoversTheLongestStep(t *testing.T) {
	step := func(name string, timeout time.Duration) agent.Step[state] {
		return agent.Step[state]{Name: name, Timeout: timeout, Run: func(context.Context, task) (agent.Next, error) { return agent.Complete(""), nil }}
	}
	const minute = time.Minute
	for name, c := range map[string]struct {
		agents []*agent.Agent
		want   time.Duration
	}{
		"short steps":                 {[]*agent.Agent{agent.New("a", 1, step("a", time.Second), step("b", 2*time.Second))}, minute},
		"the default":                 {[]*agent.Agent{agent.New("a", 1, step("a", 0))}, agent.DefaultStepTimeout + 10*time.Second},
		"just below":                  {[]*agent.Agent{agent.New("a", 1, step("a", 50*time.Second))}, minute},
		"a long step":                 {[]*agent.Agent{agent.New("a", 1, step("a", time.Second), step("b", 5*minute), step("c", time.Second))}, 5*minute + 10*time.Second},
		"a long step of an old build": {[]*agent.Agent{agent.New("a", 1, step("a", 7*minute)), agent.New("a", 2, step("a", minute))}, 7*minute + 10*time.Second},
		"another agent's long step":   {[]*agent.Agent{agent.New("a", 1, step("a", minute)), agent.New("b", 1, step("a", 9*minute))}, 9*minute + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			agents, err := catalog.New(c.agents...)
			if err != nil {
				t.Fatal(err)
			}
			config := Config{Catalog: agents, Timing: DefaultTiming()}
			if got := config.invocation(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// The longest step that may be runs to its end in one lease, though it takes
// longer than an invocation is configured for.
func TestLongestStepRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(14*60-20))
		n := r.process()
		ref := r.told(n, "steady")
		if h := r.until(ref, lifecycle.Completed); h.Fence != 1 {
			t.Errorf("fence %d: the step was run again", h.Fence)
		}
		r.stop(n, time.Minute)
	})
}
