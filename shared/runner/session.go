package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Why a step's context ends before its time.
var (
	errLost       = errors.New("the lease is lost")
	errCancel     = errors.New("a cancellation was requested")
	errEnded      = errors.New("the task has ended")
	errInvocation = errors.New("the invocation is at its end")
	errReturned   = errors.New("the step has returned")
)

// renewals is how often a lease is renewed at least while it lasts: one may be lost.
const renewals = 2

// rejectTime bounds the record of what came too late. Nothing depends on it.
const rejectTime = 5 * time.Second

// trouble marks an error of the infrastructure on its way through an agent's
// step: it is no failed attempt.
type trouble struct{ err error }

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// session is one lease: the task as this invocation knows it, and whatever a
// running step reaches of it.
type session struct {
	*Runner
	in    Input
	agent *agent.Agent
	// stopAt is when steps must have returned.
	stopAt  time.Time
	began   time.Time
	message *a2a.Message

	mu        turn // serializes commits and renewals, and guards what follows
	task      lifecycle.Task
	state     json.RawMessage
	running   bool // a step is running; it alone may commit and begin effects
	fence     uint64
	open      map[opened]bool // whose end is not recorded
	heartbeat *time.Timer
	// lease and renewal are those of the task.
	lease, renewal time.Duration
	closed         bool
	// cancel ends the running step's context.
	cancel       context.CancelCauseFunc
	stepDeadline time.Time
}

// opened is an effect whose call this lease has begun.
type opened struct {
	visit uint64
	name  string
}

// turn is a lock that is held while the ledger is asked. It is a channel and not a
// mutex: fake time (testing/synctest) passes while somebody waits for it.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

// open loads what the next step needs: the checkpoint and the latest message.
func (r *Runner) open(ctx context.Context, ag *agent.Agent, in Input, t lifecycle.Task) (*session, error) {
	s := &session{Runner: r, mu: make(turn, 1), in: in, agent: ag, task: t, fence: t.Fence, open: map[opened]bool{}, began: r.Authority.Now(), stopAt: in.DeadlineAt.Add(-r.Reserve)}
	message, err := ledger.EventAt(ctx, r.Authority.Ledger, in.Ref, t.MessageSeq)
	if err != nil {
		return nil, err
	}
	if s.message, err = ledger.Whole(ctx, r.Blobs, in.Ref, message.Message); err != nil {
		return nil, err
	}
	if t.CheckpointSeq > 0 {
		ev, err := ledger.EventAt(ctx, r.Authority.Ledger, in.Ref, t.CheckpointSeq)
		if err != nil {
			return nil, err
		}
		s.state = ev.Checkpoint.State
	}
	s.lease = t.Lease(r.Lease)
	s.renewal = min(r.Renewal, s.lease/renewals)
	s.heartbeat = time.AfterFunc(s.renewal, s.renew)
	return s, nil
}

// close ends the session, and tells of calls whose end is not recorded.
func (s *session) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.heartbeat.Stop()
	open := slices.SortedFunc(maps.Keys(s.open), func(a, b opened) int { return cmp.Or(cmp.Compare(a.visit, b.visit), cmp.Compare(a.name, b.name)) })
	s.mu.Unlock()
	if s.Watch == nil {
		return
	}
	for _, e := range open {
		s.Watch.EffectOpen(ctx, s.in.Ref, e.name)
	}
}

// calling notes that the call of an effect was begun, or that its end is on the record.
func (s *session) calling(visit uint64, name string, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun {
		s.open[opened{visit, name}] = true
	} else {
		delete(s.open, opened{visit, name})
	}
}

// current is the task as this lease knows it.
func (s *session) current() lifecycle.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.task
}

// keep remembers the state that a commit has kept.
func (s *session) keep(state json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// inTime refuses what a goroutine of a step asks for after the step returned.
func (s *session) inTime() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return errReturned
	}
	return nil
}

// stop ends the running step's context. The first reason stays.
func (s *session) stop(reason error) {
	if s.cancel != nil {
		s.cancel(reason)
	}
}

// renew extends the lease. When it is lost the step is told at once; when the
// ledger cannot be reached the fence protects the task, and the next renewal
// tries again.
func (s *session) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.renewal)
	defer cancel()
	res, err := s.Authority.Do(ctx, s.task, lifecycle.Renew{Holder: s.in.Execution, Fence: s.fence, Lease: s.lease}, s.source(s.in, s.fence), ledger.Extra{})
	switch {
	case err == nil:
		s.task = res.Task
	case lifecycle.RejectedFor(err, lifecycle.CancelPending):
		s.task = res.Task
		s.stop(errCancel)
		return
	case lifecycle.RejectedFor(err, lifecycle.PostTerminal):
		s.stop(errEnded)
		return
	case lifecycle.RejectedFor(err, lifecycle.FenceLost):
		s.stop(errLost)
		return
	default:
		s.Logger.Warn("the lease was not renewed", "tenant", s.in.Ref.Tenant, "task", s.in.Ref.Task, "fence", s.fence, "error", err)
	}
	s.heartbeat.Reset(s.renewal)
}

// report commits what the holder has to say. Rejections that end the lease stop
// the step; what came too late is kept as a rejection beside the task.
func (s *session) report(ctx context.Context, rep lifecycle.Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rep.Holder, rep.Fence, rep.Grace = s.in.Execution, s.fence, s.Grace
	res, err := s.Authority.Do(ctx, s.task, rep, s.source(s.in, s.fence), ledger.Extra{})
	if err == nil {
		s.task = res.Task
		if s.task.Terminal() && rep.Verb == lifecycle.VerbSubStep {
			s.stop(errEnded)
			return errEnded
		}
		return nil
	}
	r, refused := errors.AsType[*lifecycle.Rejection](err)
	if !refused {
		return err
	}
	switch r.Reason {
	case lifecycle.FenceLost, lifecycle.PostTerminal:
		s.stop(errLost) // the context may be the step's, which this ends
		keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), rejectTime)
		defer cancel()
		late := ledger.Rejected{At: lifecycle.Millis(s.Authority.Now()), Producer: "runner", Reason: r.Reason, Detail: string(rep.Verb) + ": " + r.Detail, Fence: s.fence}
		return errors.Join(errLost, s.Authority.Ledger.Reject(keep, s.in.Ref, late))
	case lifecycle.PauseExpired:
		s.stop(errLost)
		return errLost
	}
	return err
}

// Commit implements agent.Session.
func (s *session) Commit(ctx context.Context, sub agent.SubStep) error {
	if err := s.inTime(); err != nil {
		return err
	}
	updates, err := s.store(ctx, sub.Updates)
	if err != nil {
		return inStep(ctx, err)
	}
	if err := s.report(ctx, lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: updates, State: sub.State}); err != nil {
		return inStep(ctx, err)
	}
	s.keep(sub.State)
	return nil
}

// Progress implements agent.Session.
func (s *session) Progress(id a2a.ArtifactID) agent.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.task.Arts[id]
	return agent.Progress{Revision: a.Revision, Chunks: a.Chunks, Sealed: a.Sealed}
}

// inStep classifies the error of what a step asked for under its own context. When
// that context has ended, the step is late and the ledger is well: it is an error
// of the step, which counts as a failed attempt.
func inStep(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return err
	}
	return classify(err)
}

// classify says what an error of the ledger means to a step. A rejection is
// permanent: the same report would be refused again. The end of the lease stays
// what it is. Everything else is trouble.
func classify(err error) error {
	if err == nil || agent.IsPermanent(err) || errors.Is(err, errLost) || errors.Is(err, errEnded) {
		return err
	}
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		return agent.Permanent(err)
	}
	return &trouble{err}
}
