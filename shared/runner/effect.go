package runner

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// BeginEffect implements agent.Session.
func (s *session) BeginEffect(ctx context.Context, start agent.EffectStart) (agent.Ticket, error) {
	if err := s.inTime(); err != nil {
		return agent.Ticket{}, err
	}
	digest, err := lifecycle.DigestJSON(start.Request)
	if err != nil {
		return agent.Ticket{}, agent.Permanent(err)
	}
	s.mu.Lock()
	visit, deadline := s.task.Visit, s.stepDeadline
	s.mu.Unlock()
	req := lifecycle.EffectRequest{
		Visit: visit, Name: start.Name, Policy: lifecycle.EffectPolicy(start.Policy), RequestDigest: digest,
		Holder: s.in.Execution, Fence: s.fence, CallUntil: s.callUntil(start.Timeout, deadline), DeadBefore: s.DeadBefore,
	}
	d, err := s.Authority.BeginEffect(ctx, s.in.Ref, req)
	if conflict, ok := errors.AsType[*ledger.Conflict](err); ok {
		return agent.Ticket{}, s.refused(conflict)
	}
	if lifecycle.RejectedFor(err, lifecycle.NotDue) {
		return agent.Ticket{}, s.outOfTime(err)
	}
	if err != nil {
		return agent.Ticket{}, inStep(ctx, err)
	}
	ticket := agent.Ticket{Name: start.Name, Key: d.Next.Key, CallUntil: req.CallUntil, Result: d.Next.Result, Visit: visit, Revision: d.Next.Revision}
	switch d.Act {
	case lifecycle.ActCall:
		s.calling(visit, start.Name, true)
		ticket.Act = agent.EffectCall
	case lifecycle.ActReturn:
		s.calling(visit, start.Name, false) // its record's answer was lost
		ticket.Act = agent.EffectRecorded
	case lifecycle.ActReconcile:
		ticket.Act = agent.EffectAsk
	case lifecycle.ActWait:
		return ticket, &agent.InDoubt{Effect: start.Name, Until: d.WaitUntil}
	default:
		if s.Watch != nil {
			s.Watch.EffectHeld(ctx, s.in.Ref, start.Name)
		}
		return ticket, &agent.InDoubt{Effect: start.Name, Held: true}
	}
	return ticket, nil
}

// callUntil bounds a call by its own timeout and by the step's deadline, which
// the end of the invocation bounds already.
func (s *session) callUntil(timeout time.Duration, deadline time.Time) time.Time {
	until := s.Authority.Now().Add(timeout)
	if deadline.Before(until) {
		return deadline
	}
	return until
}

// outOfTime is the answer when no time is left for a call: nothing was recorded,
// and the next invocation or the next attempt makes it.
func (s *session) outOfTime(err error) error {
	if !s.Authority.Now().Before(s.stopAt) {
		return errInvocation
	}
	return err
}

// refused stops the step: the lease is lost, or the task is to be canceled.
func (s *session) refused(c *ledger.Conflict) error {
	reason := errLost
	if c.Current.Cancel != nil && c.Current.Fence == s.fence {
		s.mu.Lock()
		s.task.Cancel = c.Current.Cancel
		s.mu.Unlock()
		reason = errCancel
	}
	s.stop(reason)
	return reason
}

// EndEffect implements agent.Session. The call has happened: its result is
// recorded even when the step's context has ended or the lease is lost.
func (s *session) EndEffect(ctx context.Context, e agent.EffectEnd) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	state := lifecycle.EffectInDoubt
	switch e.Kind {
	case agent.EndDone:
		state = lifecycle.EffectDone
	case agent.EndNotDone:
		state = lifecycle.EffectFailed
	}
	err := s.Authority.SettleCall(ctx, s.in.Ref, e.Ticket.Visit, e.Ticket.Name, e.Ticket.Revision, state, e.Result, e.Evidence)
	if err == nil {
		s.calling(e.Ticket.Visit, e.Ticket.Name, false)
	}
	return classify(err)
}
