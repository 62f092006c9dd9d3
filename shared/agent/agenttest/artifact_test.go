package agenttest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func chunk(text string, appending, last bool) agent.Chunk {
	return agent.Chunk{Artifact: "poem", Name: "A poem", Append: appending, Last: last, Part: a2a.NewTextPart(text)}
}

// poet writes its lines one commit at a time, and goes on where it was.
func poet(lines ...string) *agent.Agent {
	return step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		for i := t.Progress("poem").Chunks; i < len(lines); i++ {
			t.Emit(chunk(lines[i], i > 0, i == len(lines)-1))
			t.State++
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
		return agent.Complete(fmt.Sprintf("%d lines", t.State)), nil
	})
}

func TestChunksAreCommittedWithTheState(t *testing.T) {
	n := agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		r := agenttest.Start(t, poet("a", "b", "c"), "go").CrashAt(t).
			WantCompleted("3 lines").WantArtifact("poem", "abc")
		if a := r.Artifact("poem"); a.Revision != 1 || !a.Sealed || len(a.Parts) != 3 || a.Name != "A poem" {
			t.Errorf("artifact %+v, want one sealed revision of three chunks", a)
		}
	})
	if n != 8 {
		t.Errorf("%d crash points, want 8", n)
	}
}

func TestNewRevisionReplacesTheOld(t *testing.T) {
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		t.Emit(chunk("draft ", false, false))
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
		t.Emit(chunk("final ", false, false))
		t.Emit(chunk("text", true, true))
		return agent.Complete("Done"), nil
	})
	r := agenttest.Start(t, a, "go").CrashBeforeCommit("one").WantCompleted("Done").WantArtifact("poem", "final text")
	if got := r.Artifact("poem").Revision; got != 2 {
		t.Errorf("revision %d, want 2", got)
	}
	r = agenttest.Start(t, a, "go").CrashAfterCommit("one").WantCompleted("Done").WantArtifact("poem", "final text")
	if got := r.Artifact("poem").Revision; got != 3 {
		t.Errorf("revision %d, want 3: the rerun began anew", got)
	}
}

// case 44: append to an artifact that does not exist is an error of the agent;
// nothing is created or dropped silently, and the task does not complete without it.
func TestWrongChunksFailTheTask(t *testing.T) {
	many := func(t *agent.Task[int], n int) {
		for i := range n {
			t.Emit(chunk("x", i > 0, i == n-1))
		}
	}
	for _, c := range []struct {
		name string
		emit func(*agent.Task[int])
		want string
	}{
		{"append to nothing", func(t *agent.Task[int]) { t.Emit(chunk("x", true, true)) }, `unknown-artifact: append to artifact "poem", which does not exist…`},
		{"append to a sealed one", func(t *agent.Task[int]) { many(t, 1); t.Emit(chunk("x", true, true)) }, `…whose revision 1 is sealed…`},
		{"left open", func(t *agent.Task[int]) { t.Emit(chunk("x", false, false)) }, `open-artifact: artifact "poem" is open…`},
		{"no ID", func(t *agent.Task[int]) { t.Emit(agent.Chunk{Last: true, Part: a2a.NewTextPart("x")}) }, `limit-reached: an artifact ID has 1 to 64 bytes`},
		{"no part", func(t *agent.Task[int]) { t.Emit(agent.Chunk{Artifact: "poem", Last: true}) }, `…the part has no content`},
		{"too many chunks", func(t *agent.Task[int]) { many(t, agent.MaxChunks+1) }, `limit-reached: a commit takes 40 chunks…`},
		{"too many updates", func(t *agent.Task[int]) {
			for range agent.MaxUpdates + 1 {
				t.Report("x")
			}
		}, `limit-reached: 47 updates in one commit, the limit is 46`},
		{"too many artifacts", func(t *agent.Task[int]) {
			for i := range agent.MaxArtifactsPerCommit + 1 {
				t.Emit(agent.Chunk{Artifact: a2a.ArtifactID(fmt.Sprint(i)), Last: true, Part: a2a.NewTextPart("x")})
			}
		}, `limit-reached: a commit takes …`},
	} {
		t.Run(c.name, func(t *testing.T) {
			atEnd := step(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
				c.emit(t)
				return agent.Complete("Done"), nil
			})
			agenttest.Start(t, atEnd, "go").WantFailed(c.want)
			swallowed := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
				c.emit(t)
				_ = t.Commit(ctx)
				return agent.Complete("Done"), nil
			})
			agenttest.Start(t, swallowed, "go").WantFailed(c.want)
		})
	}
}

func TestAsMuchAsFits(t *testing.T) {
	a := step(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		for i := range agent.MaxChunks {
			t.Emit(chunk("x", i > 0, i == agent.MaxChunks-1))
		}
		for range agent.MaxUpdates - agent.MaxChunks {
			t.Report("x")
		}
		return agent.Complete("Done"), nil
	})
	agenttest.Start(t, a, "go").WantCompleted("Done")
}
