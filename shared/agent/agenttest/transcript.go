package agenttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// line is one thing that happened.
type line struct{ who, what string }

func (r *Run) logf(who, format string, args ...any) {
	r.log = append(r.log, line{who, fmt.Sprintf(format, args...)})
}

// Transcript tells what has happened so far: who (the caller, a step, an operator)
// and what, one a line. It ends every failure, and makes a good example.
func (r *Run) Transcript() string {
	width := 0
	for _, l := range r.log {
		width = max(width, len(l.who))
	}
	var b strings.Builder
	for _, l := range r.log {
		fmt.Fprintf(&b, "%-*s  %s\n", width, l.who, strings.ReplaceAll(l.what, "\n", "\n"+strings.Repeat(" ", width+2)))
	}
	return b.String()
}

// situation says where the task is, in full.
func (r *Run) situation() string {
	return r.told(func(m *a2a.Message) string { return strconv.Quote(agent.Text(m)) })
}

// told says where the task is; show shows a question.
func (r *Run) told(show func(*a2a.Message) string) string {
	switch {
	case r.refused != nil:
		return fmt.Sprintf("the first message was refused: %v", r.refused)
	case r.state.Terminal():
		out := map[a2a.TaskState]string{
			a2a.TaskStateCompleted: "completed", a2a.TaskStateFailed: "failed",
			a2a.TaskStateCanceled: "canceled", a2a.TaskStateRejected: "rejected",
		}[r.state]
		if r.closing != "" {
			out += fmt.Sprintf(": %q", r.closing)
		}
		if r.state == a2a.TaskStateFailed && !strings.Contains(r.closing, r.reason) {
			out += fmt.Sprintf(" (%s)", r.reason)
		}
		return out
	case r.pause != nil && r.pause.terms.Authorization:
		return fmt.Sprintf("waits for authorization of %q: %s", r.pause.terms.Action, show(r.pause.question))
	case r.pause != nil:
		return "paused: " + show(r.pause.question)
	case r.sleep != nil:
		return fmt.Sprintf("sleeps for %s", r.sleep.length)
	case r.held != "":
		return fmt.Sprintf("effect %s is in doubt and held for an operator", r.held)
	}
	return fmt.Sprintf("about to run step %q", r.step)
}

// fail ends the test: what was wanted, what there is, and how it came to that.
func (r *Run) fail(want string) {
	r.t.Helper()
	r.t.Fatalf("agenttest: want %s\n      got  %s\n%s", want, r.situation(), r.sofar())
}

func (r *Run) failf(want, got string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("agenttest: want %s\n      got  %s\n%s", want, fmt.Sprintf(got, args...), r.sofar())
}

// sofar is the end of the transcript, as far as a reader of a failure wants it.
func (r *Run) sofar() string {
	const most = 40
	lines := strings.Split(strings.TrimRight(r.Transcript(), "\n"), "\n")
	if left := len(lines) - most; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", left)}, lines[left:]...)
	}
	return "so far:\n  " + strings.Join(lines, "\n  ")
}

// matches compares a text with a pattern, in which … stands for anything.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "…")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}
