package node

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
)

// executions runs the state machine in this process.
type executions struct{ runtime *asl.Runtime }

// Start implements dispatch.Executions.
func (e *executions) Start(_ context.Context, name string, in dispatch.Input) error {
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := e.runtime.Start(name, input); !errors.Is(err, asl.ErrExecutionExists) {
		return err
	}
	return nil // it runs, or has run: a name is used once
}

// Resume implements dispatch.Executions.
func (e *executions) Resume(_ context.Context, token string) error {
	err := e.runtime.SendTaskSuccess(token, json.RawMessage("{}"))
	switch {
	case errors.Is(err, asl.ErrTaskTimedOut):
		return dispatch.ErrClosed
	case errors.Is(err, asl.ErrTaskNotExist):
		return dispatch.ErrNoExecution
	}
	return err
}
