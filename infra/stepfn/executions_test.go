package stepfn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
)

const (
	machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:holdfast-task:live"
	token   = "AQC8AAAAKgAAAAMAAAAAAAAAAT-secret+callback/token=="
)

// scripted answers each call with the next error of its script.
type scripted struct {
	errs    []error
	starts  []*sfn.StartExecutionInput
	resumes []*sfn.SendTaskSuccessInput
}

func (s *scripted) next() error {
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

func (s *scripted) StartExecution(_ context.Context, in *sfn.StartExecutionInput, _ ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error) {
	s.starts = append(s.starts, in)
	return &sfn.StartExecutionOutput{}, s.next()
}

func (s *scripted) SendTaskSuccess(_ context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	s.resumes = append(s.resumes, in)
	return &sfn.SendTaskSuccessOutput{}, s.next()
}

func newExecutions(t *testing.T, client stepfn.Client) *stepfn.Executions {
	t.Helper()
	return stepfn.New(client, machine)
}

// wire wraps an error as the SDK does.
func wire(err error) error {
	return fmt.Errorf("operation error SFN: call, https response error StatusCode: 400: %w", err)
}

func TestStart(t *testing.T) {
	in := dispatch.Input{Tenant: "acme", Task: "0192f0c1-1111-7000-8000-000000000001", Generation: 2}
	var refused *types.StateMachineDoesNotExist
	for _, row := range []struct {
		name string
		err  error
		want func(error) bool
	}{
		{"started", nil, func(err error) bool { return err == nil }},
		{"runs or has ended", wire(&types.ExecutionAlreadyExists{Message: aws.String("Execution Already Exists")}), func(err error) bool { return err == nil }},
		{"no machine", wire(&types.StateMachineDoesNotExist{}), func(err error) bool { return errors.As(err, &refused) }},
		{"too many executions", wire(&types.ExecutionLimitExceeded{}), func(err error) bool { return err != nil }},
		{"out of time", context.DeadlineExceeded, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := &scripted{errs: []error{row.err}}
			err := newExecutions(t, client).Start(t.Context(), in.Name(), in)
			if !row.want(err) {
				t.Errorf("Start: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), in.Name()) {
				t.Errorf("the error does not name the execution: %v", err)
			}
			got := client.starts[0]
			if *got.Name != "0192f0c1-1111-7000-8000-000000000001-g2" || *got.StateMachineArn != machine {
				t.Errorf("started %s of %s", *got.Name, *got.StateMachineArn)
			}
		})
	}
}

// A second start is harmless only if its input is the same bytes (API reference of StartExecution). The text is also a contract with the machine, and with executions
// that a release of ours started before this one.
func TestStartSendsTheSameBytes(t *testing.T) {
	client := &scripted{}
	executions := newExecutions(t, client)
	in := dispatch.Input{Tenant: "a<b>&\u2028", Task: "t1", Generation: 1<<53 + 1}
	for range 3 {
		if err := executions.Start(t.Context(), in.Name(), in); err != nil {
			t.Fatal(err)
		}
	}
	for _, start := range client.starts {
		if got, want := *start.Input, `{"tenant":"a\u003cb\u003e\u0026\u2028","taskId":"t1","generation":9007199254740993}`; got != want {
			t.Errorf("input %s, want %s", got, want)
		}
		if start.TraceHeader != nil {
			t.Error("a trace header differs between two starts")
		}
	}
}

func TestResume(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		want error // nil: an error of no meaning to the dispatcher
	}{
		{"closed by an answer, the deadline or an operator", &types.TaskTimedOut{Message: aws.String("Task Timed Out: 'Provided task does not exist anymore'")}, dispatch.ErrClosed},
		{"no such task", &types.TaskDoesNotExist{}, dispatch.ErrNoExecution},
		{"no token of this account", &types.InvalidToken{Message: aws.String("Invalid Token: 'Invalid token'")}, dispatch.ErrNoExecution},
		{"output refused", &types.InvalidOutput{}, nil},
		{"no access", &types.KmsAccessDeniedException{}, nil},
		{"throttled to the end", &types.KmsThrottlingException{}, nil},
		{"the parameter is quoted", &types.ValidationException{Message: aws.String("1 validation error detected: Value '" + token + "' at 'taskToken' failed")}, nil},
		{"broken on the way", errors.New("write tcp: " + token + ": broken pipe"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := &scripted{errs: []error{wire(row.err)}}
			err := newExecutions(t, client).Resume(t.Context(), token)
			if row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("Resume: %v, want %v", err, row.want)
			}
			if row.want == nil && (err == nil || errors.Is(err, dispatch.ErrClosed) || errors.Is(err, dispatch.ErrNoExecution)) {
				t.Errorf("Resume: %v, want an error that decides nothing", err)
			}
			if row.want == nil && !errors.Is(err, row.err) {
				t.Errorf("%v does not compare with its cause %v", err, row.err)
			}
			wantNoToken(t, err)
			if got := client.resumes[0]; *got.TaskToken != token || *got.Output != "{}" {
				t.Errorf("sent %q with %q", *got.Output, *got.TaskToken)
			}
		})
	}
	if err := newExecutions(t, &scripted{}).Resume(t.Context(), token); err != nil {
		t.Errorf("Resume: %v", err)
	}
}

func TestResumeSaysWhatWasAnswered(t *testing.T) {
	err := newExecutions(t, &scripted{errs: []error{wire(&types.InvalidOutput{})}}).Resume(t.Context(), token)
	if err == nil || !strings.Contains(err.Error(), "InvalidOutput") {
		t.Errorf("Resume: %v, want the code of the answer", err)
	}
}

// wantNoToken looks in the text of an error and of every error that it hands out (I9).
func wantNoToken(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%v %+v %#v", err, err, err.Error()); strings.Contains(text, token) {
			t.Errorf("the token is in an error: %s", text)
		}
	}
}
