package agent

import (
	"errors"
	"fmt"
	"time"
)

// VerdictAct is what is to be done about a step that returned an error.
type VerdictAct string

// What is to be done about a step that returned an error.
const (
	VerdictRetry VerdictAct = "retry" // a failed attempt: another one after Delay
	VerdictWait  VerdictAct = "wait"  // no failed attempt: the same one again at Until
	VerdictHold  VerdictAct = "hold"  // no failed attempt: again once an operator has settled the effect
	VerdictFail  VerdictAct = "fail"  // the task fails
)

// Verdict says what a step's error means for its task. All who run agents judge by
// it, so that an agent behaves under test as it does in production.
type Verdict struct {
	Act    VerdictAct
	Delay  time.Duration // VerdictRetry: before jitter
	Until  time.Time     // VerdictWait
	Effect string        // VerdictWait, VerdictHold: the effect in doubt
	Text   string        // VerdictFail: the closing message, for the caller
	Reason string        // for operators
}

// Judge judges the error of an attempt, counted from 1. An effect in doubt comes
// first: what a crash left behind must not decide how the task ends.
func (a *Agent) Judge(step string, attempt int, err error) Verdict {
	reason := err.Error()
	if doubt, ok := errors.AsType[*InDoubt](err); ok {
		if doubt.Held {
			return Verdict{Act: VerdictHold, Effect: doubt.Effect, Reason: reason}
		}
		return Verdict{Act: VerdictWait, Effect: doubt.Effect, Until: doubt.Until, Reason: reason}
	}
	if IsPermanent(err) {
		return failing(step, reason)
	}
	retry := a.RetryOf(step)
	if attempt >= retry.Attempts {
		return failing(step, fmt.Sprintf("gave up after %d attempts: %s", attempt, reason))
	}
	return Verdict{Act: VerdictRetry, Delay: retry.Delay(attempt), Reason: reason}
}

func failing(step, reason string) Verdict {
	return Verdict{Act: VerdictFail, Text: fmt.Sprintf("Step %q failed: %s", step, reason), Reason: reason}
}
