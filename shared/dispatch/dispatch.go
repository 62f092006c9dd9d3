// Package dispatch tells executions what was committed: it starts them, parks
// them on a pause, resumes them with an answer, and settles those that failed.
//
// It never decides about a task. Everything it says can be said twice, or be
// lost: an execution is named after its generation, a callback token belongs to
// one pause, and whatever nobody was told is found by the sweep.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var (
	// ErrNoExecution: no execution waits with this token, and none will.
	ErrNoExecution = errors.New("no such execution")
	// ErrClosed: the token was used, or its state timed out: somebody else has
	// resumed the execution.
	ErrClosed = errors.New("callback token is closed")
)

// Executions is the port to whatever runs the state machine.
type Executions interface {
	// Start starts an execution. Starting the same name again changes nothing and is
	// no error, whether the first one still runs or has ended.
	Start(ctx context.Context, name string, in Input) error
	// Resume completes the callback state that issued the token. ErrClosed,
	// ErrNoExecution.
	Resume(ctx context.Context, token string) error
}

// Input is what an execution is started with. It holds nothing that could
// differ between two starts of the same generation.
type Input struct {
	Tenant     string     `json:"tenant"`
	Task       a2a.TaskID `json:"taskId"`
	Generation uint64     `json:"generation"`
}

// Ref is the input's task.
func (in Input) Ref() lifecycle.Ref { return lifecycle.Ref{Tenant: in.Tenant, Task: in.Task} }

// Name is the execution's name. Names are unique per state machine (Step
// Functions, StartExecution), so twice is once.
func (in Input) Name() string { return fmt.Sprintf("%s-g%d", in.Task, in.Generation) }

// Dispatcher tells executions.
type Dispatcher struct {
	Authority  *ledger.Authority
	Executions Executions
	Grace      time.Duration
	// Watch is told of what operators must know; nil: nobody is.
	Watch Watch
}

// Watch is told of what operators must know.
type Watch interface {
	// ExecutionFailed: something in an execution failed that says nothing of its task.
	ExecutionFailed(ctx context.Context, h lifecycle.Head, execution string)
	// TaskFailed: an execution is to end as failed, for its task did.
	TaskFailed(ctx context.Context, ref lifecycle.Ref, execution string)
}

// Submitted starts the execution of a task's generation.
func (d *Dispatcher) Submitted(ctx context.Context, h lifecycle.Head) error {
	in := Input{Tenant: h.Tenant, Task: h.Task, Generation: h.Generation}
	return d.Executions.Start(ctx, in.Name(), in)
}

// Answered resumes the execution that is parked on a pause which a commit has
// closed. When it has not parked yet, it finds the mark of that commit itself.
// When there is no such execution any more, a new one takes over; so it does from
// one that has had many turns, which is resumed to find that and to end.
func (d *Dispatcher) Answered(ctx context.Context, h lifecycle.Head, pause int) error {
	ref := h.Ref()
	if h.Turns >= lifecycle.MaxTurns && !h.Terminal() {
		if err := d.Restart(ctx, ref); err != nil {
			return err
		}
	}
	parked, err := d.Authority.Ledger.Parked(ctx, ref, pause)
	if err != nil || parked.Token.Value == "" {
		return err
	}
	err = d.Executions.Resume(ctx, parked.Token.Value)
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case errors.Is(err, ErrNoExecution):
		return d.Restart(ctx, ref)
	}
	return err
}

// Await parks an execution: it stores the callback token where the answer will
// look for it, and resumes at once when the answer was there first.
func (d *Dispatcher) Await(ctx context.Context, ref lifecycle.Ref, pause int, token ledger.Token) error {
	parked, err := d.Authority.Ledger.Park(ctx, ref, pause, token)
	if err != nil {
		return err
	}
	if !parked.Answered && parked.Token.Value == token.Value {
		return nil
	}
	if err := d.Executions.Resume(ctx, token.Value); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// Restart raises the generation and starts the execution that takes over. A task
// that has ended meanwhile, is paused or is being run needs none.
func (d *Dispatcher) Restart(ctx context.Context, ref lifecycle.Ref) error {
	_, err := d.restart(ctx, ref, false)
	return err
}

// Recover is Restart with the proof that no process which could hold a lease is
// alive: the lease is taken at once instead of being waited for.
func (d *Dispatcher) Recover(ctx context.Context, ref lifecycle.Ref) error {
	_, err := d.restart(ctx, ref, true)
	return err
}

// restart says whether the task has a new execution.
func (d *Dispatcher) restart(ctx context.Context, ref lifecycle.Ref, holderGone bool) (bool, error) {
	t, err := d.Authority.Load(ctx, ref)
	if err != nil {
		return false, err
	}
	res, err := d.Authority.Do(ctx, t, lifecycle.Restart{Generation: t.Generation, HolderGone: holderGone, Grace: d.Grace}, lifecycle.Source{Producer: "dispatch"}, ledger.Extra{})
	if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		return false, nil
	}
	if err != nil || res.Task.Terminal() {
		return false, err
	}
	return true, d.Submitted(ctx, res.Task.Head)
}

// handOver lets the next generation go on when an execution has had many turns,
// well before the state machine's limit on its history. Where there is none to be
// had just now, the execution goes on by itself.
func (d *Dispatcher) handOver(ctx context.Context, in Input, out lifecycle.Outcome) (lifecycle.Outcome, error) {
	if out.Word != lifecycle.WordContinue && out.Word != lifecycle.WordWait {
		return out, nil
	}
	h, err := d.Authority.Ledger.Head(ctx, in.Ref())
	if err != nil || h.Turns < lifecycle.MaxTurns || h.Generation != in.Generation {
		return out, err
	}
	raised, err := d.restart(ctx, in.Ref(), false)
	if err != nil || !raised {
		return out, err
	}
	return lifecycle.Outcome{Word: lifecycle.WordDone}, nil
}
