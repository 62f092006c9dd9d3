package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// ARNs as they would be on AWS.
const (
	machineARN  = "arn:aws:states:us-east-1:000000000000:stateMachine:task:live"
	deliveryARN = "arn:aws:states:us-east-1:000000000000:stateMachine:delivery:live"
	functionARN = "arn:aws:lambda:us-east-1:000000000000:function:"
	tokenPrefix = "AQCEAAAAKgAAAAMAAAAA" // what is no token at all is told from a strange one by it
)

// machine is Step Functions: the state machines behind the service's protocol.
type machine struct {
	url      string
	runtimes map[string]*asl.Runtime // by ARN

	mu     sync.Mutex
	states map[string][]string // states that each execution has entered
	ended  map[string]asl.Result
	lose   map[string]int // executions that are accepted and stopped at once, by ARN
	unsaid int            // callbacks that are accepted and reach nobody
	abort  string         // the execution that somebody stops
	codes  map[string]int // answers by action and error code
}

// invocation calls a function, by its name.
type invocation func(ctx context.Context, function string, payload json.RawMessage) (json.RawMessage, error)

func newMachine(t *testing.T, invoke invocation) *machine {
	t.Helper()
	m := &machine{runtimes: map[string]*asl.Runtime{}, states: map[string][]string{}, ended: map[string]asl.Result{}, lose: map[string]int{}, codes: map[string]int{}}
	m.run(t, machineARN, statemachine.Task, invoke, map[string]string{"StepFunctionArn": functionARN + fnStep, "SettleFunctionArn": functionARN + fnSettle})
	m.run(t, deliveryARN, statemachine.Delivery, invoke, map[string]string{"DeliverFunctionArn": functionARN + fnDeliver})
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, r := range m.runtimes {
			if err := r.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
		server.Close()
	})
	return m
}

// run runs a state machine.
func (m *machine) run(t *testing.T, arn, definition string, invoke invocation, functions map[string]string) {
	t.Helper()
	parsed, err := asl.Parse([]byte(definition), functions)
	if err != nil {
		t.Fatal(err)
	}
	m.runtimes[arn], err = asl.NewRuntime(parsed, asl.Options{
		Invoke: func(ctx context.Context, arn string, payload json.RawMessage) (json.RawMessage, error) {
			if m.stops(payload) {
				return nil, &asl.Error{Name: "States.Runtime", Cause: "stopped by hand"} // which no state catches
			}
			return invoke(ctx, strings.TrimPrefix(arn, functionARN), payload)
		},
		Now: time.Now, Rand: rand.Float64, NewToken: func() string { return tokenPrefix + a2a.NewMessageID() },
		OnTransition: func(execution, state string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.states[execution] = append(m.states[execution], state)
		},
		OnEnd: func(execution string, r asl.Result) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.ended[execution] = r
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// request is what the three actions have in common.
type machineRequest struct {
	StateMachineArn string `json:"stateMachineArn"`
	Name            string `json:"name"`
	Input           string `json:"input"`
	TaskToken       string `json:"taskToken"`
	Output          string `json:"output"`
	Error           string `json:"error"`
	Cause           string `json:"cause"`
}

// ServeHTTP speaks AWS JSON 1.0.
func (m *machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action, ours := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var in machineRequest
	if err := json.Unmarshal(body, &in); err != nil || !ours {
		m.answer(w, action, "SerializationException", nil)
		return
	}
	switch action {
	case "StartExecution":
		runtime := m.runtimes[in.StateMachineArn]
		if runtime == nil {
			m.answer(w, action, "StateMachineDoesNotExist", nil)
			return
		}
		if m.loses(in.StateMachineArn, in.Name) {
			m.answer(w, action, "", map[string]any{"executionArn": in.StateMachineArn, "startDate": float64(time.Now().UnixMilli()) / 1000})
			return
		}
		err := runtime.Start(in.Name, json.RawMessage(in.Input))
		m.answer(w, action, codeOf(err), map[string]any{
			"executionArn": strings.TrimSuffix(strings.Replace(in.StateMachineArn, ":stateMachine:", ":execution:", 1), "live") + in.Name, "startDate": float64(time.Now().UnixMilli()) / 1000,
		})
	case "SendTaskSuccess", "SendTaskFailure":
		if !strings.HasPrefix(in.TaskToken, tokenPrefix) {
			m.answer(w, action, "InvalidToken", nil)
			return
		}
		switch {
		case m.drops():
		case action == "SendTaskSuccess":
			err = m.runtimes[machineARN].SendTaskSuccess(in.TaskToken, json.RawMessage(in.Output))
		default:
			err = m.runtimes[machineARN].SendTaskFailure(in.TaskToken, in.Error, in.Cause)
		}
		m.answer(w, action, codeOf(err), map[string]any{})
	default:
		m.answer(w, action, "UnknownOperationException", nil)
	}
}

// codeOf is the service's name of an error, "" for none.
func codeOf(err error) string {
	for known, code := range map[error]string{
		asl.ErrExecutionExists: "ExecutionAlreadyExists", asl.ErrInvalidName: "InvalidName", asl.ErrInvalidInput: "InvalidExecutionInput",
		asl.ErrTaskTimedOut: "TaskTimedOut", asl.ErrTaskNotExist: "TaskDoesNotExist", asl.ErrInvalidOutput: "InvalidOutput",
	} {
		if errors.Is(err, known) {
			return code
		}
	}
	if err != nil {
		return "ServiceUnavailable"
	}
	return ""
}

func (m *machine) answer(w http.ResponseWriter, action, code string, body any) {
	m.mu.Lock()
	m.codes[action+" "+code]++
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amzn-Requestid", a2a.NewMessageID())
	switch code {
	case "":
	case "ServiceUnavailable":
		w.WriteHeader(http.StatusServiceUnavailable)
		body = map[string]string{"__type": code}
	default:
		w.WriteHeader(http.StatusBadRequest)
		body = map[string]string{"__type": code, "message": "as the service says"}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// visited says how often an execution has entered a state.
func (m *machine) visited(execution, state string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, s := range m.states[execution] {
		if s == state {
			n++
		}
	}
	return n
}

// result is how an execution has ended, if it has.
func (m *machine) result(execution string) (asl.Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.ended[execution]
	return r, ok
}

// executions are those whose names begin so, in no order.
func (m *machine) executions(prefix string) (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.states {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// loses says whether an execution is to be lost: somebody has stopped it.
func (m *machine) loses(arn, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lose[arn] == 0 {
		return false
	}
	m.lose[arn]--
	m.states[name] = nil
	return true
}

// drops says whether a callback is to reach nobody.
func (m *machine) drops() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unsaid == 0 {
		return false
	}
	m.unsaid--
	return true
}

// stops says whether a call is of the execution that somebody has stopped.
func (m *machine) stops(payload json.RawMessage) bool {
	var of struct {
		Execution string `json:"execution"`
	}
	if json.Unmarshal(payload, &of) != nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.abort != "" && m.abort == of.Execution
}

// breaks changes what goes wrong from now on.
func (m *machine) breaks(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}
