package simulation_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/runner"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// fault is an error of the service's own, by its name.
type fault string

func (f fault) Error() string     { return string(f) }
func (f fault) ErrorName() string { return string(f) }

// invoke is one invocation of a function by the state machine: it may be refused, may
// come to its end without anybody hearing of it, or go on while the state machine has
// given it up and tries again.
func (c *cloud) invoke(ctx context.Context, function string, payload json.RawMessage) (json.RawMessage, error) {
	var op struct{ Op, Execution, TaskID string }
	if err := json.Unmarshal(payload, &op); err != nil {
		return nil, err
	}
	do := c.function
	if function == sendFunction {
		do = c.deliver
	}
	blow := c.w.schedule.wait(ctx, &turn{who: "machine", what: "invoke " + op.Op, about: cmp.Or(op.Execution, op.TaskID), may: onInvocations})
	switch blow {
	case ledgertest.FailBefore:
		return nil, fault("Lambda.TooManyRequestsException")
	case ledgertest.Late:
		c.late.Go(func() { _, _ = do(context.WithoutCancel(ctx), payload) })
		return nil, fault("Lambda.ClientExecutionTimeoutException")
	}
	out, err := do(ctx, payload)
	if blow == ledgertest.FailAfter {
		return nil, fault("Lambda.Unknown")
	}
	return out, err
}

var onInvocations = []ledgertest.Fault{ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Late}

// function is an invocation of step or settle as the function sees it.
func (c *cloud) function(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	p := c.w.newProcess("step")
	agents, err := c.agents(p, int(c.w.release.Load()))
	if err != nil {
		return nil, err
	}
	authority, dispatcher, _ := c.base(p)
	steps := runner.New(runner.Config{
		Authority: authority, Blobs: p.blobs(), Agents: agents, Rand: p.rand, Lease: lifecycle.DefaultLease, Renewal: p.renewal(),
		Grace: lifecycle.DefaultGrace, Reserve: reserve, Logger: c.logger(p), Watch: c.monitor(p),
	})
	handler := &dispatch.Handler{Dispatcher: dispatcher, Steps: func(ctx context.Context, in dispatch.Input, execution string, deadlineAt time.Time) (lifecycle.Outcome, error) {
		return steps.Run(ctx, runner.Input{Ref: in.Ref(), Generation: in.Generation, Execution: execution, DeadlineAt: deadlineAt.Add(p.skew())})
	}}
	return p.invoked(ctx, payload, handler.Handle)
}

// deliver is an invocation of the delivery machine's function.
func (c *cloud) deliver(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	p := c.w.newProcess("deliver")
	_, _, hooks := c.base(p)
	return p.invoked(ctx, payload, (&webhook.Handler{Sender: hooks.Sender, Endpoints: hooks.Ledger, Budget: 2 * webhook.Timeout, Logger: c.logger(p)}).Handle)
}

// invoked is one invocation: the process ends with it, and with its time.
func (p *process) invoked(ctx context.Context, payload json.RawMessage, handle func(context.Context, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	ctx, cancel := p.living(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, invocation)
	defer stop()
	out, err := handle(ctx, payload)
	died := p.crash.Crashed() || ctx.Err() != nil // also one whose time was up, which is frozen
	p.drain()
	if died {
		return nil, fault("Lambda.Unknown")
	}
	return out, err
}

// drain ends a process that has come to its end in an orderly way.
func (p *process) drain() { p.crash.Kill() }

// executions is the service as a process reaches it.
type executions struct {
	p       *process
	runtime *asl.Runtime
}

// Start implements dispatch.Executions.
func (e *executions) Start(ctx context.Context, name string, in dispatch.Input) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return e.p.tell(ctx, "start", name, func() error {
		if err := e.runtime.Start(name, input); !errors.Is(err, asl.ErrExecutionExists) {
			return err
		}
		return nil
	})
}

// Resume implements dispatch.Executions.
func (e *executions) Resume(ctx context.Context, token string) error {
	return e.p.tell(ctx, "resume", token, func() error {
		err := e.runtime.SendTaskSuccess(token, json.RawMessage("{}"))
		switch {
		case errors.Is(err, asl.ErrTaskTimedOut):
			return dispatch.ErrClosed
		case errors.Is(err, asl.ErrTaskNotExist):
			return dispatch.ErrNoExecution
		}
		return err
	})
}

// sending is the service of deliveries.
type sending struct {
	p       *process
	runtime *asl.Runtime
}

// Start implements webhook.Executions.
func (e *sending) Start(ctx context.Context, name string, x webhook.Execution) error {
	input, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return e.p.tell(ctx, "start delivery", name, func() error {
		if err := e.runtime.Start(name, input); !errors.Is(err, asl.ErrExecutionExists) {
			return err
		}
		return nil
	})
}

func (p *process) tell(ctx context.Context, what, about string, do func() error) error {
	return p.call(ctx, what, about, append([]ledgertest.Fault{ledgertest.Doubled}, onSends...), func(f ledgertest.Fault) error {
		if f == ledgertest.FailBefore {
			return errNetwork
		}
		err := do()
		switch f {
		case ledgertest.Doubled:
			return do()
		case ledgertest.FailAfter:
			return errNetwork
		}
		return err
	})
}
