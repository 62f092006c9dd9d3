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
	for r.refused == nil && !r.terminal() && r.pause == nil && r.sleep == nil && r.held == "" {
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
	r.leased = true
	if r.state == a2a.TaskStateSubmitted {
		r.entry(1)
	}
	r.state = a2a.TaskStateWorking
	return true
}

// attempt runs one attempt of the current step and commits how it ended.
func (r *Run) attempt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.acquire() {
		return
	}
	message, err := copied(r.message)
	if err != nil {
		r.end(a2a.TaskStateFailed, err.Error(), err.Error())
		return
	}
	if r.take(cancelDuring, r.step) != nil {
		r.cancel = true
		r.logf("caller", "asks to cancel while step %s runs", r.step)
	}
	in := agent.Input{
		Task: TaskID, ContextID: ContextID, Step: r.step, Attempt: r.failed + 1,
		State: append([]byte(nil), r.saved...), Message: message,
	}
	ctx, stop := context.WithCancelCause(r.t.Context())
	defer stop(nil)
	timeout := r.agent.Timeout(r.step)
	ctx, done := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("step %q took longer than %s", r.step, timeout))
	defer done()
	s := &session{run: r, stop: stop}
	move, err := r.step1(ctx, in, s)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	r.conclude(s, move, err)
}

// step1 runs the step without the mutex, which its session takes.
func (r *Run) step1(ctx context.Context, in agent.Input, s *session) (agent.Move, error) {
	r.mu.Unlock()
	defer r.mu.Lock()
	defer s.close()
	return r.agent.Run(ctx, in, s)
}

// conclude says what the end of an attempt means for the task, and commits it.
func (r *Run) conclude(s *session, move agent.Move, err error) {
	step := r.step
	switch {
	case s.over == nil && err == nil:
		err = r.write(commit{Move: move})
		if agent.IsPermanent(err) {
			err = r.write(r.failing(step, err)) // the same would be refused for ever
		}
	case s.over == nil:
		err = r.write(r.failing(step, err))
	case errors.Is(s.over, errCanceled) && !r.terminal() && err == nil:
		err = r.write(commit{Move: move}) // it may have got there
	case errors.Is(s.over, errCanceled) && !r.terminal():
		err = r.write(r.failing(step, err))
	default:
		err = s.over
	}
	if errors.Is(err, errCrashed) {
		r.leased = false
		r.logf(step, "crashed %s", r.crashedAt)
	}
}

// failing is what an error of a step commits.
func (r *Run) failing(step string, err error) commit {
	v := r.agent.Judge(step, r.failed+1, err)
	c := commit{Move: agent.Move{Verb: verbFail}, reason: v.Reason, text: v.Text}
	switch v.Act {
	case agent.VerdictRetry:
		c.Verb, c.until = verbRetry, r.clock.Add(v.Delay)
		r.logf(step, "attempt %d failed: %s; again after %s", r.failed+1, v.Reason, v.Delay)
	case agent.VerdictWait:
		c.Verb, c.until = verbWait, v.Until
		r.logf(step, "waits: %s", v.Reason)
	case agent.VerdictHold:
		c.Verb, r.held = verbWait, v.Effect
		r.logf(step, "waits: %s", v.Reason)
	case agent.VerdictFail:
	}
	return c
}
