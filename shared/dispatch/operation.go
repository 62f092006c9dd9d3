package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Operation names of the state machine.
const (
	OpRun    = "run"    // run steps
	OpAwait  = "await"  // park on a pause
	OpSettle = "settle" // something failed
)

// Operation is what a state of the machine asks for
// (statemachine/task.asl.json). Fields that an operation does not need are
// absent.
type Operation struct {
	Op string `json:"op"`
	Input
	Execution string    `json:"execution"`
	Pause     int       `json:"pause,omitempty"`
	Token     string    `json:"token,omitempty"`
	EnteredAt time.Time `json:"enteredAt,omitzero"`
	Attempt   int       `json:"attempt,omitempty"`
}

// Steps runs the steps of a task until the deadline.
type Steps func(ctx context.Context, in Input, execution string, deadlineAt time.Time) (lifecycle.Outcome, error)

// Handler answers the operations of the state machine.
type Handler struct {
	Dispatcher *Dispatcher
	Steps      Steps
}

// Handle answers one operation. The context's deadline is the end of the
// invocation; there must be one.
func (h *Handler) Handle(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var op Operation
	if err := json.Unmarshal(payload, &op); err != nil {
		return nil, fmt.Errorf("the operation cannot be read: %w", err)
	}
	deadline, limited := ctx.Deadline()
	if !limited {
		return nil, fmt.Errorf("operation %q without a deadline", op.Op)
	}
	var out lifecycle.Outcome
	var err error
	switch op.Op {
	case OpRun:
		if out, err = h.Steps(ctx, op.Input, op.Execution, deadline); err == nil {
			out, err = h.Dispatcher.handOver(ctx, op.Input, out)
		}
	case OpAwait:
		err = h.Dispatcher.Await(ctx, op.Ref(), op.Pause, ledger.Token{Value: op.Token, Generation: op.Generation, EnteredAt: op.EnteredAt, Attempt: op.Attempt})
	case OpSettle:
		out, err = h.Dispatcher.Settle(ctx, op.Input, op.Execution)
	default:
		err = fmt.Errorf("unknown operation %q", op.Op)
	}
	if err != nil {
		return nil, err
	}
	if out.Word == lifecycle.WordFailed && h.Dispatcher.Watch != nil {
		h.Dispatcher.Watch.TaskFailed(ctx, op.Ref(), op.Execution)
	}
	return json.Marshal(out)
}
