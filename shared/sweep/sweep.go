// Package sweep looks for what time alone has made due: pauses past their
// deadline, tasks past their longest life, leases that ran out, starts and
// resumes that nobody was told of; and, apart from these, tasks whose retention is over.
//
// It is a net under everything else and never the normal path. It looks at the
// tasks that are due, reads each one's head, and does what the rules allow; two
// sweeps at once do no harm.
package sweep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Executions is told what the sweep found.
type Executions interface {
	// Restart raises the task's generation and starts an execution.
	Restart(ctx context.Context, ref lifecycle.Ref) error
	// Answered resumes the execution that is parked on a closed pause.
	Answered(ctx context.Context, h lifecycle.Head, pause int) error
}

// Sweeper sweeps.
type Sweeper struct {
	Authority  *ledger.Authority
	Executions Executions
	// Known says whether an agent version can be run here. A task of an unknown one
	// waits for a deploy; it is not restarted and does not fail.
	Known func(agent string, version int) bool
	// Outside says whether an agent version is worked on outside. A task of it is not
	// restarted: it waits for a worker to claim it. nil: none is.
	Outside func(agent string, version int) bool
	// Page is how many tasks are read at a time, Most how many are looked at in one
	// run.
	Page, Most int
	// Watch is told of what operators must know; nil: nobody is.
	Watch  Watch
	Logger *slog.Logger

	place ledger.Place[ledger.DueCursor]
}

// Watch is told of what operators must know.
type Watch interface {
	// Untaken: nobody has taken a task that somebody was told of, or nobody was told; it
	// is restarted. The head says how often in a row.
	Untaken(ctx context.Context, h lifecycle.Head)
}

// Found counts what one run did.
type Found struct {
	Looked    int // tasks that were due, and not broken off
	Expired   int // ended by a deadline or by their longest life
	Restarted int // given a new execution
	Left      int // to workers from outside, until one claims them or their life ends
	Skipped   int // nothing to do yet
	Unknown   int // waiting for their agent version
	Failed    int // could not be handled; the next run tries again
}

// Run sweeps once. It advances past everything that it looked at, and goes on
// where the last run had to stop, so that no number of tasks it must skip keeps it
// from the others. An error about one task does not end the run.
func (s *Sweeper) Run(ctx context.Context) (Found, error) {
	var f Found
	after := s.place.Take()
	now := s.Authority.Now()
	for f.Looked < s.Most {
		page, err := s.Authority.Ledger.Due(ctx, now, after, min(s.Page, s.Most-f.Looked))
		if err != nil {
			return f, err
		}
		for _, u := range page.Unread {
			f.Looked++
			f.Failed++
			s.Logger.Error("a task that is due cannot be read", "tenant", u.Ref.Tenant, "task", u.Ref.Task, "error", u.Err)
		}
		for _, h := range page.Heads {
			err := s.look(ctx, h.Ref(), &f)
			if err != nil && ctx.Err() != nil {
				return f, err
			}
			f.Looked++
			if err != nil {
				f.Failed++
				s.Logger.Warn("the sweep could not handle a task", "tenant", h.Tenant, "task", h.Task, "seq", h.Seq, "error", err)
			}
		}
		if after = page.Next; after == nil {
			break
		}
	}
	s.place.Leave(after)
	return f, nil
}

func (s *Sweeper) look(ctx context.Context, ref lifecycle.Ref, f *Found) error {
	t, err := s.Authority.Load(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		f.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	now := s.Authority.Now()
	switch {
	case t.Terminal():
		f.Skipped++
		return nil
	case overdue(t.Head, now):
		return s.expire(ctx, t, f)
	case t.Pause != nil, t.Leased(now), t.NextAt.After(now), t.DueAt.After(now):
		f.Skipped++ // also what somebody has handled since the index was read
		return nil
	case s.Outside != nil && s.Outside(t.Agent, t.AgentVersion):
		return s.leave(ctx, t, f)
	case !s.Known(t.Agent, t.AgentVersion):
		f.Unknown++
		return nil
	}
	f.Restarted++
	if s.Watch != nil {
		s.Watch.Untaken(ctx, t.Head)
	}
	return s.Executions.Restart(ctx, ref)
}

func overdue(h lifecycle.Head, now time.Time) bool {
	return !now.Before(h.LifeEndsAt) || h.Pause != nil && !now.Before(h.Pause.DeadlineAt)
}

// leave takes a task of workers from outside out of what is due. A cancellation that
// its last holder did not meet is settled.
func (s *Sweeper) leave(ctx context.Context, t lifecycle.Task, f *Found) error {
	_, err := s.Authority.Do(ctx, t, lifecycle.Leave{}, lifecycle.Source{Producer: "sweep"}, ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		f.Skipped++
		return nil
	}
	if err == nil {
		f.Left++
	}
	return err
}

func (s *Sweeper) expire(ctx context.Context, t lifecycle.Task, f *Found) error {
	res, err := s.Authority.Do(ctx, t, lifecycle.Expire{}, lifecycle.Source{Producer: "sweep"}, ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		f.Skipped++
		return nil
	}
	if err != nil {
		return err
	}
	f.Expired++
	if res.Answered == 0 {
		return nil
	}
	return s.Executions.Answered(ctx, res.Task.Head, res.Answered)
}
