package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// commitTime bounds the commit that follows a step whose own time is up.
const commitTime = 10 * time.Second

// run runs steps until the task rests or the time is up.
func (s *session) run(ctx context.Context) (lifecycle.Outcome, error) {
	for {
		move, stepErr := s.attempt(ctx)
		commitCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
		rep, err := s.judge(move, stepErr)
		if err == nil {
			err = s.conclude(commitCtx, *rep)
		}
		out, more, err := s.next(commitCtx, err)
		cancel()
		if err != nil || !more {
			return out, err
		}
	}
}

// attempt runs one attempt of the current step.
func (s *session) attempt(ctx context.Context) (agent.Move, error) {
	t := s.current()
	timeout := s.agent.Timeout(t.Step)
	now := s.Authority.Now()
	deadline, cause := now.Add(timeout), fmt.Errorf("step %q took longer than %s", t.Step, timeout)
	if s.stopAt.Before(deadline) {
		deadline, cause = s.stopAt, errInvocation
	}
	stepCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stepCtx, done := context.WithTimeoutCause(stepCtx, deadline.Sub(now), cause)
	defer done()
	s.mu.Lock()
	s.cancel, s.stepDeadline, s.running = cancel, deadline, true
	in := agent.Input{Task: t.Task, ContextID: t.ContextID, Step: t.Step, Attempt: t.Attempt + 1, State: s.state, Message: copied(s.message)}
	s.mu.Unlock()
	move, err := s.agent.Run(stepCtx, in, s)
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
	switch reason := context.Cause(stepCtx); {
	case err != nil && ctx.Err() != nil:
		err = errors.Join(errInvocation, err)
	case err != nil && reason != nil:
		err = errors.Join(reason, err)
	}
	return move, err
}

// judge says what a step's result means for the task. An error means that there is
// nothing to commit.
func (s *session) judge(m agent.Move, err error) (*lifecycle.Report, error) {
	if err == nil {
		rep, failure := s.moved(m)
		if !agent.IsPermanent(failure) {
			return rep, failure
		}
		err = failure
	}
	_, troubled := errors.AsType[*trouble](err)
	switch {
	case errors.Is(err, errCancel):
		return &lifecycle.Report{Verb: lifecycle.VerbCancel}, nil
	case errors.Is(err, errLost), errors.Is(err, errEnded), errors.Is(err, errInvocation), troubled:
		return nil, err
	}
	t := s.current()
	v := s.agent.Judge(t.Step, t.Attempt+1, err)
	now := s.Authority.Now()
	switch v.Act {
	case agent.VerdictWait:
		return &lifecycle.Report{Verb: lifecycle.VerbWait, Until: v.Until, Reason: redact(v.Reason)}, nil
	case agent.VerdictHold:
		return &lifecycle.Report{Verb: lifecycle.VerbWait, Until: now.Add(lifecycle.HoldLook), Reason: redact(v.Reason)}, nil
	case agent.VerdictRetry:
		delay := time.Duration(s.Rand() * float64(v.Delay))
		return &lifecycle.Report{Verb: lifecycle.VerbRetry, Until: now.Add(delay), Reason: redact(v.Reason)}, nil
	default:
		return failed(v), nil
	}
}

func failed(v agent.Verdict) *lifecycle.Report {
	return &lifecycle.Report{Verb: lifecycle.VerbFail, Reason: redact(v.Reason), Message: agent.Say(redact(v.Text))}
}

// moved is the report of a step that returned what comes next.
func (s *session) moved(m agent.Move) (*lifecycle.Report, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	updates, err := s.store(ctx, m.Updates)
	if err != nil {
		return nil, err
	}
	message, err := s.storeMessage(ctx, m.Message)
	if err != nil {
		return nil, err
	}
	rep := &lifecycle.Report{Updates: updates, State: m.State, Next: m.Step, Message: message}
	switch m.Verb {
	case agent.VerbContinue:
		rep.Verb, rep.Keep = lifecycle.VerbContinue, s.fits(m.Step)
	case agent.VerbPause:
		rep.Verb, rep.Pause = lifecycle.VerbPause, terms(m.Pause)
	case agent.VerbSleep:
		rep.Verb, rep.Until = lifecycle.VerbSleep, s.Authority.Now().Add(m.Delay)
	case agent.VerbComplete:
		rep.Verb = lifecycle.VerbComplete
	case agent.VerbReject:
		rep.Verb = lifecycle.VerbReject
	}
	return rep, nil
}

func terms(p *agent.PauseTerms) *lifecycle.PauseTerms {
	out := &lifecycle.PauseTerms{State: a2a.TaskStateInputRequired, Timeout: p.Timeout, Outcome: a2a.TaskStateFailed, Named: p.Named}
	if p.Cancel {
		out.Outcome = a2a.TaskStateCanceled
	}
	if p.Authorization {
		out.State = a2a.TaskStateAuthRequired
		out.Challenge = &lifecycle.Challenge{Action: p.Action, Audience: p.Audience}
	}
	return out
}

// fits says whether another step is begun in this invocation: when its whole
// time is left, or at least half of what the invocation had.
func (s *session) fits(step string) bool {
	left := s.stopAt.Sub(s.Authority.Now())
	return left >= min(s.agent.Timeout(step), s.stopAt.Sub(s.began)/2)
}

// conclude commits the end of an attempt. What the rules refuse for good fails
// the task: the same report would be refused for ever.
func (s *session) conclude(ctx context.Context, rep lifecycle.Report) error {
	err := s.report(ctx, rep)
	r, refused := errors.AsType[*lifecycle.Rejection](err)
	if !refused || rep.Verb == lifecycle.VerbFail {
		if err == nil {
			s.keep(rep.State)
		}
		return err
	}
	t := s.current()
	return s.report(ctx, *failed(s.agent.Judge(t.Step, t.Attempt+1, agent.Permanent(r))))
}

// next says how the invocation goes on after a commit, or after one that was not
// possible.
func (s *session) next(ctx context.Context, err error) (lifecycle.Outcome, bool, error) {
	switch {
	case errors.Is(err, errLost), errors.Is(err, errEnded):
		out, err := s.lookAgain(ctx, s.in)
		return out, false, err
	case errors.Is(err, errInvocation):
		if err := s.release(ctx); err != nil {
			return lifecycle.Outcome{}, false, err
		}
		out, err := s.lookAgain(ctx, s.in)
		return out, false, err
	case err != nil:
		return lifecycle.Outcome{}, false, err
	}
	t := s.current()
	if out, rest := lifecycle.AtRest(t.Head, s.in.Generation, s.in.Execution, s.Authority.Now()); rest {
		return out, false, nil
	}
	if t.Holder != s.in.Execution {
		return lifecycle.Outcome{Word: lifecycle.WordContinue}, false, nil
	}
	return lifecycle.Outcome{}, true, nil
}

// release gives the lease back so that the next invocation need not wait for it.
func (s *session) release(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	res, err := s.Authority.Do(ctx, s.task, lifecycle.Release{Holder: s.in.Execution, Fence: s.fence, Grace: s.Grace}, s.source(s.in, s.fence), ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		return nil
	}
	if err == nil {
		s.task = res.Task
	}
	return err
}
