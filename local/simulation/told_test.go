package simulation_test

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What a walker has shown is what its plan says, each thing once and in its order,
// whatever happened to its processes: a step runs at least once and moves on exactly
// once.

// planned are the visible things of a plan, in order.
func planned(plan []deed, mark string) (out []string) {
	for _, d := range plan {
		text := d.text + " " + mark
		switch d.verb {
		case say:
			out = append(out, "say "+text)
		case emit:
			out = append(out, fmt.Sprintf("emit %s %t %s", d.chunk.Artifact, d.chunk.Last, clipped(d.chunk.Part.Text())))
		case ask, authorize:
			out = append(out, "ask "+text)
		case complete, decline:
			out = append(out, "end "+text)
		}
	}
	return out
}

func clipped(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%s… (%d)", s[:40], len(s))
	}
	return s
}

// told are those of a history.
func toldIn(entries []lifecycle.Entry) (out []string, err error) {
	for _, e := range entries {
		ev, err := e.Event()
		if err != nil {
			return nil, err
		}
		switch {
		case e.Type == lifecycle.TypeProgress:
			out = append(out, "say "+agent.Text(ev.Message))
		case e.Type == lifecycle.TypeChunk:
			text := ev.Chunk.Part.Text()
			if ref, moved := lifecycle.AsBlob(ev.Chunk.Part); moved {
				text = fmt.Sprintf("blob %s %d", ref.Digest, ref.Bytes)
			}
			out = append(out, fmt.Sprintf("emit %s %t %s", ev.Chunk.Artifact, ev.Chunk.Last, clipped(text)))
		case e.Type == lifecycle.TypePaused:
			out = append(out, "ask "+agent.Text(ev.Message))
		case e.Type == lifecycle.TypeEnded && (ev.State == lifecycle.Completed || ev.State == lifecycle.Rejected):
			out = append(out, "end "+agent.Text(ev.Message))
		}
	}
	return out, nil
}

// planIn is the plan that a history begins with, and the mark of its tenant.
func planIn(entries []lifecycle.Entry) ([]deed, string, error) {
	ev, err := entries[0].Event()
	if err != nil {
		return nil, "", err
	}
	var n uint64
	var mark string
	if _, err := fmt.Sscanf(agent.Text(ev.Message), "walk %d for %s", &n, &mark); err != nil {
		return nil, "", err
	}
	return planOf(n), mark, nil
}

// checkWalk holds a walker's task against its plan.
func (w *world) checkWalk(ref lifecycle.Ref, entries []lifecycle.Entry, state a2a.TaskState, effects []lifecycle.Effect) {
	plan, mark, err := planIn(entries)
	if err != nil {
		w.broken("walk", "task %s has no plan: %v", ref, err)
		return
	}
	want := planned(plan, mark)
	got, err := toldIn(entries)
	if err != nil {
		w.broken("I1", "task %s: %v", ref, err)
		return
	}
	for i, text := range got {
		if i >= len(want) || !same(text, want[i]) {
			w.broken("once", "task %s: its %d. thing is %q; the plan has\n%s", ref, i+1, text, strings.Join(want, "\n"))
			return
		}
	}
	if state != lifecycle.Completed && state != lifecycle.Rejected {
		return
	}
	if len(got) != len(want) {
		w.broken("once", "task %s ended as %s after %d of %d things:\n%s", ref, state, len(got), len(want), strings.Join(want, "\n"))
	}
	affects := 0
	for i, d := range plan {
		if d.verb != affect {
			continue
		}
		affects++
		done := 0
		for _, e := range effects {
			if e.Name == fmt.Sprintf("deed-%d", i) && e.State == lifecycle.EffectDone {
				done++
			}
		}
		if done != 1 {
			w.broken("I7", "task %s has completed, and the effect of deed %d is recorded %d times", ref, i, done)
		}
	}
	if len(effects) != affects {
		w.broken("I7", "task %s has %d effects, its plan %d", ref, len(effects), affects)
	}
}

// same compares a thing with what was planned; of what is kept as a blob the ledger has
// the digest alone.
func same(got, want string) bool {
	if got == want {
		return true
	}
	head, rest, _ := strings.Cut(got, "blob ")
	return rest != "" && strings.HasPrefix(want, head) && strings.Contains(want, "…")
}
