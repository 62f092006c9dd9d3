// Package runner runs the steps of one task, under one lease, for as long as one
// invocation lasts.
//
// It takes the lease, loads the checkpoint, runs as many steps as fit, commits
// after each, renews the lease while a step runs, stops in time, and says in one
// word how its execution goes on. It keeps nothing between invocations: whatever
// was committed is found by the next one, and whatever was not is done again.
package runner

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// unknownAgentWait is how long an execution waits for a deploy that brings the
// task's agent version: it is under way, or an operator will see the alarm.
const unknownAgentWait = 30 * time.Second

// Agents finds an agent in the version that a task began with.
type Agents interface {
	Lookup(name string, version int) (*agent.Agent, bool)
}

// Config is what a runner needs.
type Config struct {
	Authority *ledger.Authority
	Blobs     ledger.Blobs
	Agents    Agents
	// Rand draws from [0, 1) for jitter.
	Rand func() float64
	// Lease and Renewal: how long a lease lasts where the task's policy does not say it,
	// and how often it is renewed.
	Lease, Renewal time.Duration
	// Grace is how long the sweep leaves alone what should go on by itself.
	Grace time.Duration
	// Reserve is kept free at the end of an invocation for the last commit.
	Reserve time.Duration
	// DeadBefore is proof that whoever began an effect earlier is gone, zero where
	// there is none.
	DeadBefore time.Time
	// Watch is told of what operators must know; nil: nobody is.
	Watch  Watch
	Logger *slog.Logger
}

// Watch is told of what operators must know.
type Watch interface {
	// EffectHeld: an effect in doubt is held for an operator.
	EffectHeld(ctx context.Context, ref lifecycle.Ref, effect string)
	// EffectOpen: an invocation ends, and what became of a call that it has begun is not on
	// the record.
	EffectOpen(ctx context.Context, ref lifecycle.Ref, effect string)
	// VersionUnknown: the task waits for an agent version that is not here.
	VersionUnknown(ctx context.Context, ref lifecycle.Ref)
}

// Runner runs invocations.
type Runner struct{ Config }

// New makes a runner.
func New(c Config) *Runner { return &Runner{c} }

// Input is one invocation.
type Input struct {
	Ref        lifecycle.Ref
	Generation uint64
	// Execution is the name of the execution; it holds the lease.
	Execution string
	// DeadlineAt is when the invocation is ended from outside.
	DeadlineAt time.Time
}

// Run runs one invocation. An error means trouble with the infrastructure; the
// task is as it was after its last commit.
func (r *Runner) Run(ctx context.Context, in Input) (lifecycle.Outcome, error) {
	t, out, rest, err := r.look(ctx, in)
	if err != nil || rest {
		return out, err
	}
	ag, known := r.Agents.Lookup(t.Agent, t.AgentVersion)
	if !known {
		r.Logger.Warn("agent version is not in the catalog", "tenant", in.Ref.Tenant, "task", in.Ref.Task, "seq", t.Seq, "agent", t.Agent, "version", t.AgentVersion)
		if r.Watch != nil {
			r.Watch.VersionUnknown(ctx, in.Ref)
		}
		return lifecycle.WaitFor(unknownAgentWait), nil
	}
	res, err := r.Authority.Do(ctx, t, lifecycle.Grant{Holder: in.Execution, Generation: in.Generation, Lease: t.Lease(r.Lease), Grace: r.Grace}, r.source(in, 0), ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		return r.lookAgain(ctx, in)
	}
	if err != nil {
		return lifecycle.Outcome{}, err
	}
	if res.Task.Terminal() {
		return lifecycle.Ended(res.Task.Head), nil
	}
	if res.Task.Holder != in.Execution {
		return r.lookAgain(ctx, in) // the grant's answer was lost, and more has happened since
	}
	s, err := r.open(ctx, ag, in, res.Task)
	if err != nil {
		return lifecycle.Outcome{}, err
	}
	defer s.close(ctx)
	return s.run(ctx)
}

// look reads the task, and answers when nothing of it is to be run now.
func (r *Runner) look(ctx context.Context, in Input) (t lifecycle.Task, out lifecycle.Outcome, rest bool, err error) {
	t, err = r.Authority.Load(ctx, in.Ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return t, lifecycle.Outcome{Word: lifecycle.WordDone}, true, nil
	}
	if err == nil {
		out, rest = lifecycle.AtRest(t.Head, in.Generation, in.Execution, r.Authority.Now())
	}
	return t, out, rest, err
}

// lookAgain answers for a task that is not as it was thought to be. Whatever
// cannot be answered at once is left to the next invocation.
func (r *Runner) lookAgain(ctx context.Context, in Input) (lifecycle.Outcome, error) {
	_, out, rest, err := r.look(ctx, in)
	if err == nil && !rest {
		out = lifecycle.Outcome{Word: lifecycle.WordContinue}
	}
	return out, err
}

func (r *Runner) source(in Input, fence uint64) lifecycle.Source {
	return lifecycle.Source{Producer: "runner", Holder: in.Execution, Fence: fence}
}
