package agenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// settle runs the task until it ends, pauses, sleeps or is held.
func (r *Run) settle() {
	for r.refused == nil && !r.state.Terminal() && r.pause == nil && r.sleep == nil && r.held == "" {
		r.attempt()
	}
}

// settlePast is settle, and lets sleeps pass.
func (r *Run) settlePast() {
	for r.settle(); r.sleep != nil; r.settle() {
		r.wake()
	}
}

func (r *Run) wake() {
	if r.sleep.until.After(r.clock) {
		r.clock = r.sleep.until
	}
	r.sleep = nil
}

// acquire takes the task up. A task that is taken up too often without getting
// anywhere has failed.
func (r *Run) acquire() bool {
	if r.leased {
		return true
	}
	if r.grants >= agent.MaxGrants {
		r.end(a2a.TaskStateFailed, "The task made no progress over its last attempts.", "no progress")
		return false
	}
	r.grants++
	if r.state == a2a.TaskStateSubmitted {
		r.entry(1)
	}
	r.state, r.leased = a2a.TaskStateWorking, true
	return true
}

// attempt runs one attempt of the current step and commits how it ended.
func (r *Run) attempt() {
	if !r.acquire() {
		return
	}
	message, err := handed(r.message)
	if err != nil {
		r.t.Fatalf("agenttest: the message cannot be read back: %v", err)
	}
	if r.take(cancelDuring, r.step) != nil {
		r.cancel = true
		r.logf("caller", "asks to cancel while %s runs", r.step)
	}
	ctx, stop := context.WithCancelCause(r.t.Context())
	defer stop(nil)
	timeout := r.agent.Timeout(r.step)
	ctx, done := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("step %q took longer than %s", r.step, timeout))
	defer done()
	s := &session{run: r, stop: stop}
	move, err := r.agent.Run(ctx, agent.Input{
		Task: TaskID, ContextID: ContextID, Step: r.step, Attempt: r.failed + 1,
		State: append([]byte(nil), r.saved...), Message: message,
	}, s)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	r.conclude(s.close(), move, err)
}

// conclude says what the end of an attempt means for the task, and commits it.
// Over is what ended the session before the step, nil for nothing.
func (r *Run) conclude(over error, move agent.Move, err error) {
	switch {
	case errors.Is(over, errCrashed), errors.Is(over, errEnded):
		return
	case errors.Is(err, errCanceled):
		err = r.write(commit{Move: agent.Move{Verb: verbWait}}) // meets the request
	case err == nil:
		err = r.write(commit{Move: move})
	default:
		err = r.write(r.failing(err))
	}
	if agent.IsPermanent(err) {
		// Refused, and would be for ever.
		if err = r.write(r.failing(err)); agent.IsPermanent(err) {
			r.t.Fatalf("agenttest: the failure cannot be committed: %v", err)
		}
	}
}

// failing is what an error of a step commits.
func (r *Run) failing(err error) commit {
	v := r.agent.Judge(r.step, r.failed+1, err)
	c := commit{Move: agent.Move{Verb: verbFail}, reason: v.Reason, text: v.Text}
	switch v.Act {
	case agent.VerdictRetry:
		c.Verb, c.until = verbRetry, r.clock.Add(v.Delay)
		c.note = fmt.Sprintf("attempt %d failed: %s (again after %s)", r.failed+1, v.Reason, v.Delay)
	case agent.VerdictWait:
		c.Verb, c.until, c.note = verbWait, v.Until, "waits: "+v.Reason
	case agent.VerdictHold:
		c.Verb, c.held, c.note = verbWait, v.Effect, "waits: "+v.Reason
	case agent.VerdictFail:
	}
	return c
}
