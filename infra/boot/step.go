package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/runner"
)

// Operations is a function that a state machine calls, as what lambda.Start takes.
type Operations func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)

// Step is the function of the states Run and Await: it runs agents' steps and parks
// executions.
func Step() (Operations, error) { return newProcess().step() }

func (p process) step() (Operations, error) {
	s, machine, t, free := readStorage(p.variables), readMachine(p.variables), readTiming(p.variables), readReserve(p.variables, defaultReserve)
	known, err := catalog.Shipped(p.address(systemsURL))
	c := readAWS(p.variables)
	if err := errors.Join(p.err(), err); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	authority := p.authority(tables, monitor)
	told := dispatcher(c, machine, authority, monitor, t.grace)
	steps := runner.New(runner.Config{
		Authority: authority, Blobs: newBlobs(c, s), Agents: known, Rand: rand.Float64,
		Lease: t.lease, Renewal: t.renewal, Grace: t.grace, Reserve: free, Watch: monitor, Logger: p.logger,
	})
	return only(&dispatch.Handler{Dispatcher: told, Steps: func(ctx context.Context, in dispatch.Input, execution string, deadlineAt time.Time) (lifecycle.Outcome, error) {
		return steps.Run(ctx, runner.Input{Ref: in.Ref(), Generation: in.Generation, Execution: execution, DeadlineAt: deadlineAt})
	}}, dispatch.OpRun, dispatch.OpAwait), nil
}

// Settle is the function of the state Settle: it looks at a task whose execution
// failed, and runs nothing.
func Settle() (Operations, error) { return newProcess().settle() }

func (p process) settle() (Operations, error) {
	s, machine, t := readStorage(p.variables), readMachine(p.variables), readTiming(p.variables)
	c := readAWS(p.variables)
	if err := p.err(); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	told := dispatcher(c, machine, p.authority(tables, monitor), monitor, t.grace)
	return only(&dispatch.Handler{Dispatcher: told}, dispatch.OpSettle), nil
}

// only lets through what the function is for: its role allows no more.
func only(h *dispatch.Handler, operations ...string) Operations {
	return func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
		var asked struct {
			Op string `json:"op"`
		}
		if err := json.Unmarshal(payload, &asked); err != nil {
			return nil, errors.New("the payload is no operation of statemachine/task.asl.json")
		}
		if slices.Contains(operations, asked.Op) {
			return h.Handle(ctx, payload)
		}
		return nil, fmt.Errorf("this function does %q, not %q: connect the state to the other one", operations, asked.Op)
	}
}
