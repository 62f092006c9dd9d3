package export

import (
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Remedy says what becomes of an effect, and what an operator may do.
func Remedy(e lifecycle.Effect, ended bool, now time.Time) string {
	switch {
	case e.State == lifecycle.EffectDone:
		return "nothing: the recorded result is the answer, it is never called again"
	case e.State == lifecycle.EffectFailed && ended:
		return "nothing: its call said that it did nothing, and the task has ended"
	case e.State == lifecycle.EffectFailed:
		return "it did nothing, and is called again when its step runs again"
	case e.Out(now):
		return "its caller may still be calling: look again at " + e.OutUntil().UTC().Format(time.RFC3339)
	case ended:
		return "in doubt, and the task has ended: ask the other side what became of this key, and settle it in the console (the task, under Effects)"
	}
	switch e.Policy {
	case lifecycle.PolicyRetry:
		return "in doubt: it is called again with this key when its step runs again"
	case lifecycle.PolicyReconcile:
		return "in doubt: its step asks the other side when it runs again"
	default:
		return "in doubt and held: an operator asks the other side what became of this key, and settles it in the console (the task, under Effects); the task waits"
	}
}
