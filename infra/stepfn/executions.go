// Package stepfn runs the state machines on AWS Step Functions: it fills the ports
// dispatch.Executions and webhook.Executions.
//
// Both calls can be repeated. An execution is named after its generation, and
// its input is the same bytes each time, so a second start finds the first one,
// running or ended. A callback token is good for one answer; the second one
// finds it closed.
package stepfn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
)

// noOutput is what a resumed Await state returns: the machine throws it away
// (ResultPath null), since what the answer says is in the ledger.
const noOutput = "{}"

// Starter is the part of *sfn.Client that starts executions.
type Starter interface {
	StartExecution(ctx context.Context, in *sfn.StartExecutionInput, options ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
}

// Client is the part of *sfn.Client that executions of tasks need.
type Client interface {
	Starter
	SendTaskSuccess(ctx context.Context, in *sfn.SendTaskSuccessInput, options ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
}

// Executions are the executions of one state machine.
type Executions struct {
	client  Client
	machine string
}

// New takes the client and the ARN to start executions through. It should be an
// alias's: an execution then records which version of the definition it runs,
// and a deploy moves new executions by moving the alias. The client should come
// from [NewClient].
func New(client Client, machineARN string) *Executions {
	return &Executions{client: client, machine: machineARN}
}

// Start implements dispatch.Executions.
//
// While the first execution of a name runs, Step Functions answers the same
// name and input with the first answer; once it has ended, or for another input,
// with ExecutionAlreadyExists. Either way the generation has its execution. The
// input could only differ if a deploy changed its fields between two starts, and
// then the first one is as good.
//
// A name is free again 90 days after its execution ended. Should one be started
// that late, its first Run finds the task ended, or in a later generation, and
// it ends as well.
func (e *Executions) Start(ctx context.Context, name string, in dispatch.Input) error {
	return start(ctx, e.client, e.machine, name, in)
}

func start(ctx context.Context, client Starter, machine, name string, in any) error {
	input, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("the input of execution %s: %w", name, err)
	}
	_, err = client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: aws.String(machine),
		Name:            aws.String(name),
		Input:           aws.String(string(input)),
	})
	if _, exists := errors.AsType[*types.ExecutionAlreadyExists](err); exists {
		return nil
	}
	if err != nil {
		return fmt.Errorf("starting execution %s: %w", name, err)
	}
	return nil
}

// Resume implements dispatch.Executions.
//
// TaskTimedOut says that the token has expired or that its task is closed, which
// an answer before this one has done, or the deadline, or whoever stopped the
// execution: the token is used up, and whether anything is left to do is for the
// sweep to find (ErrClosed). TaskDoesNotExist and InvalidToken say that there is
// no such task at all, as after the state machine was deleted and made anew, or
// the tables were restored elsewhere: nobody will ever run that execution again,
// so another must (ErrNoExecution). Taking a closed token for one of these would
// be harmless: the ledger refuses a new generation while somebody runs the task.
func (e *Executions) Resume(ctx context.Context, token string) error {
	_, err := e.client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String(token), Output: aws.String(noOutput)})
	if err == nil {
		return nil
	}
	if _, closed := errors.AsType[*types.TaskTimedOut](err); closed {
		return dispatch.ErrClosed
	}
	if _, unknown := errors.AsType[*types.TaskDoesNotExist](err); unknown {
		return dispatch.ErrNoExecution
	}
	if _, invalid := errors.AsType[*types.InvalidToken](err); invalid {
		return dispatch.ErrNoExecution
	}
	return fmt.Errorf("resuming an execution: %w", withoutToken(err, token))
}
