package lifecycle

import (
	"math"
	"time"
)

// Word says how an execution goes on. The words are the contract with the state
// machine (statemachine/task.asl.json).
type Word string

// Words.
const (
	WordContinue Word = "continue" // run again at once
	WordWait     Word = "wait"     // run again after Seconds
	WordAwait    Word = "await"    // park on Pause for at most Seconds
	WordDone     Word = "done"
	WordFailed   Word = "failed" // the task failed, and so does its execution
)

// Outcome is what an invocation answers. Seconds is at least 1 where it counts:
// the state machine counts whole seconds.
type Outcome struct {
	Word    Word `json:"word"`
	Seconds int  `json:"seconds,omitempty"`
	Pause   int  `json:"pause,omitempty"`
}

// WaitFor is the outcome that waits at least so long.
func WaitFor(d time.Duration) Outcome { return Outcome{Word: WordWait, Seconds: wholeSeconds(d)} }

// AtRest says how an execution of a generation goes on when there is nothing to
// run for its holder now. It returns false when there is.
func AtRest(h Head, generation uint64, holder string, now time.Time) (Outcome, bool) {
	switch {
	case h.Terminal():
		return Ended(h), true
	case h.Generation != generation:
		return Outcome{Word: WordDone}, true
	case h.Pause != nil && now.Before(h.Pause.DeadlineAt):
		return Outcome{Word: WordAwait, Pause: h.Pause.Number, Seconds: wholeSeconds(h.Pause.DeadlineAt.Sub(now))}, true
	case h.NextAt.After(now):
		return WaitFor(h.NextAt.Sub(now)), true
	case h.Leased(now) && h.Holder != holder:
		return WaitFor(h.LeaseUntil.Sub(now)), true
	}
	return Outcome{}, false
}

// Ended is the outcome of an ended task: a task that failed ends in a failed
// execution.
func Ended(h Head) Outcome {
	if h.State == Failed {
		return Outcome{Word: WordFailed}
	}
	return Outcome{Word: WordDone}
}

func wholeSeconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }
