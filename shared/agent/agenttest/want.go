package agenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// WantPause wants the task to wait for a reply to this question.
func (r *Run) WantPause(question string) *Run {
	r.t.Helper()
	r.settlePast()
	if r.pause == nil || r.pause.terms.Authorization || !matches(question, agent.Text(r.pause.question)) {
		r.fail(fmt.Sprintf("paused: %q", question))
	}
	return r
}

// WantAuthorization wants the task to wait for authorization of this action.
func (r *Run) WantAuthorization(action string) *Run {
	r.t.Helper()
	r.settlePast()
	if r.pause == nil || !r.pause.terms.Authorization || !matches(action, r.pause.terms.Action) {
		r.fail(fmt.Sprintf("waits for authorization of %q", action))
	}
	return r
}

// WantSleep wants the task to sleep for so long, and then lets the time pass.
func (r *Run) WantSleep(d time.Duration) *Run {
	r.t.Helper()
	r.settle()
	if r.sleep == nil || r.sleep.length != d {
		r.fail(fmt.Sprintf("sleeps for %s", d))
	}
	r.wake()
	return r
}

// WantHeld wants the task to wait for an operator who settles this effect.
func (r *Run) WantHeld(effect string) *Run {
	r.t.Helper()
	r.settlePast()
	if r.held != effect {
		r.fail("effect " + effect + " held for an operator")
	}
	return r
}

// WantCompleted wants the task completed, with this closing text.
func (r *Run) WantCompleted(text string) *Run {
	r.t.Helper()
	return r.wantEnd(a2a.TaskStateCompleted, "completed", text)
}

// WantRejected wants the task rejected by its agent, with this closing text.
func (r *Run) WantRejected(text string) *Run {
	r.t.Helper()
	return r.wantEnd(a2a.TaskStateRejected, "rejected", text)
}

// WantFailed wants the task failed. The text is that of its closing message, or the
// reason that operators see: a permanent error's own text.
func (r *Run) WantFailed(text string) *Run {
	r.t.Helper()
	return r.wantEnd(a2a.TaskStateFailed, "failed", text)
}

// WantCanceled wants the task canceled.
func (r *Run) WantCanceled() *Run {
	r.t.Helper()
	return r.wantEnd(a2a.TaskStateCanceled, "canceled", "…")
}

func (r *Run) wantEnd(state a2a.TaskState, name, text string) *Run {
	r.t.Helper()
	r.settlePast()
	reasonFits := state == a2a.TaskStateFailed && matches(text, r.reason)
	if r.state != state || !matches(text, r.closing) && !reasonFits {
		r.fail(fmt.Sprintf("%s: %q", name, text))
	}
	return r
}

// WantRefused wants the first message refused by the agent's Validate, so that
// there is no task.
func (r *Run) WantRefused(text string) *Run {
	r.t.Helper()
	if r.refused == nil || !matches(text, r.refused.Error()) {
		r.settle()
		r.fail(fmt.Sprintf("the first message refused: %q", text))
	}
	return r
}

// WantReport wants a progress message with this text among those committed so far.
func (r *Run) WantReport(text string) *Run {
	r.t.Helper()
	r.settle()
	if !slices.ContainsFunc(r.reports, func(m *a2a.Message) bool { return matches(text, agent.Text(m)) }) {
		r.failf(fmt.Sprintf("a report %q", text), "%s", r.toldReports())
	}
	return r
}

func (r *Run) toldReports() string {
	if len(r.reports) == 0 {
		return "no reports"
	}
	out := make([]string, len(r.reports))
	for i, m := range r.reports {
		out[i] = fmt.Sprintf("%q", agent.Text(m))
	}
	return "reports " + strings.Join(out, ", ")
}

// WantArtifact wants an artifact whose chunks have this text, sealed or not.
func (r *Run) WantArtifact(id a2a.ArtifactID, text string) *Run {
	r.t.Helper()
	r.settle()
	a, ok := r.artifacts[id]
	want := fmt.Sprintf("artifact %s with %q", id, text)
	switch {
	case !ok:
		r.failf(want, "no such artifact")
	case !matches(text, a.Text()):
		r.failf(want, "%q", a.Text())
	}
	return r
}

// WantCalls wants an effect's call to have been made so many times, over all visits.
// Where the count is above one, a crash or a lost answer came in between.
func (r *Run) WantCalls(effect string, n int) *Run {
	r.t.Helper()
	r.settle()
	if r.calls[effect] != n {
		r.failf(fmt.Sprintf("%d calls of %s", n, effect), "%d", r.calls[effect])
	}
	return r
}

// WantState wants the agent's state, as of the last commit, to be as a function
// says; it returns what is wrong, or nothing.
//
//	agenttest.WantState(run, func(s trip) string {
//		if s.City != "Oslo" { return "another city" }
//		return ""
//	})
func WantState[S any](r *Run, check func(S) string) *Run {
	r.t.Helper()
	s := State[S](r)
	if wrong := check(s); wrong != "" {
		r.failf("another state: "+wrong, "%s", r.saved)
	}
	return r
}

// State is the agent's state as of the last commit.
func State[S any](r *Run) S {
	r.t.Helper()
	r.settle()
	var s S
	if len(r.saved) > 0 {
		if err := json.Unmarshal(r.saved, &s); err != nil {
			r.failf(fmt.Sprintf("a state %T", s), "%s: %v", r.saved, err)
		}
	}
	return s
}

// StateBytes is the size of the agent's state as of the last commit.
func (r *Run) StateBytes() int {
	r.settle()
	return len(r.saved)
}

// Artifact is an artifact as of the last commit; its revision is 0 when there is
// none.
func (r *Run) Artifact(id a2a.ArtifactID) Artifact {
	r.settle()
	return r.artifacts[id]
}

// Reports are the texts of the progress messages committed so far.
func (r *Run) Reports() []string {
	r.settle()
	out := make([]string, len(r.reports))
	for i, m := range r.reports {
		out[i] = agent.Text(m)
	}
	return out
}

// Messages are the progress messages committed so far.
func (r *Run) Messages() []*a2a.Message {
	r.settle()
	return slices.Clone(r.reports)
}

// Question is the message of the open pause, nil when there is none.
func (r *Run) Question() *a2a.Message {
	r.settlePast()
	if r.pause == nil {
		return nil
	}
	return r.pause.question
}
