package agenttest

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
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

// situation says where the task is.
func (r *Run) situation() string {
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
		return fmt.Sprintf("waits for authorization of %q: %q", r.pause.terms.Action, textOf(r.pause.question))
	case r.pause != nil:
		return fmt.Sprintf("paused: %q", textOf(r.pause.question))
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
	r.t.Fatalf("agenttest: want %s\n      got  %s\n%s", want, r.situation(), indented(r.Transcript()))
}

func (r *Run) failf(want, got string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("agenttest: want %s\n      got  %s\n%s", want, fmt.Sprintf(got, args...), indented(r.Transcript()))
}

func indented(s string) string {
	return "so far:\n  " + strings.TrimRight(strings.ReplaceAll(s, "\n", "\n  "), " \n")
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
