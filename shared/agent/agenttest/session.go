package agenttest

import (
	"context"
	"errors"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// session is what one attempt reaches of its run. A step may use it from several
// goroutines; what is left of them when the step has returned reaches nothing.
type session struct {
	mu   sync.Mutex // guards the run while the step runs, and what follows
	run  *Run
	stop context.CancelCauseFunc
	over error // why nothing is accepted any more
}

// close ends the session and says what had ended it before.
func (s *session) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.over
	if before == nil {
		s.over = errEnded
	}
	return before
}

// ended remembers that nothing is accepted any more, and ends the step's context.
func (s *session) ended(why error) error {
	s.over = why
	s.stop(why)
	return why
}

// Commit implements agent.Session.
func (s *session) Commit(_ context.Context, sub agent.SubStep) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	err := s.run.write(commit{Move: agent.Move{Verb: verbSubStep, State: sub.State, Updates: sub.Updates}})
	if err == nil || agent.IsPermanent(err) {
		return err
	}
	return s.ended(err)
}

// Progress implements agent.Session.
func (s *session) Progress(id a2a.ArtifactID) agent.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return agent.Progress{}
	}
	a := s.run.artifacts[id]
	return agent.Progress{Revision: a.Revision, Chunks: len(a.Parts), Sealed: a.Sealed}
}

// BeginEffect implements agent.Session.
func (s *session) BeginEffect(_ context.Context, start agent.EffectStart) (agent.Ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over != nil:
		return agent.Ticket{}, s.over
	case s.run.cancel:
		s.stop(errCanceled)
		return agent.Ticket{}, errCanceled
	}
	ticket, err := s.run.beginEffect(start)
	if errors.Is(err, errCrashed) {
		return ticket, s.ended(err)
	}
	return ticket, err
}

// EndEffect implements agent.Session.
func (s *session) EndEffect(_ context.Context, e agent.EffectEnd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	err := s.run.endEffect(e)
	if errors.Is(err, errCrashed) {
		return s.ended(err)
	}
	return err
}
