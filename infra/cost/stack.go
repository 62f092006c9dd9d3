package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/offer"
	"github.com/holdfast-a2a/holdfast/shared/policy"
	"github.com/holdfast-a2a/holdfast/shared/runner"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// Whose tasks these are. The names enter the items, and so their size.
const (
	tenant    = "acme-production"
	principal = "ci"
)

// Nothing is renewed, nothing times out: what is counted does not depend on how fast this machine is.
const (
	leaseTime   = 6 * time.Hour
	renewalTime = time.Hour
	reserveTime = 10 * time.Second
)

// begin is in the future of the machine, by whose clock contexts and the server's TTL go. An invocation may last until
// endsAt.
var (
	begin  = time.Date(2040, time.March, 5, 9, 0, 0, 0, time.UTC)
	endsAt = begin.Add(24 * time.Hour)
)

const arnOf = "arn:aws:lambda:us-east-1:000000000000:function:"

// stack is the deployment in one process: the door, the functions of the state machine, the state machine.
//
// One request or one invocation goes on at a time. On AWS an answer and the execution that it resumed overlap, and
// what the one reads may hold a little more of what the other wrote; here the counts are the same every time.
type stack struct {
	storage *storage
	door    http.Handler
	url     string
	close   func()

	handler *dispatch.Handler
	sender  *webhook.Sender
	// deliveries go on with what the sender has not delivered.
	deliveries *deliveries
	runtime    *asl.Runtime
	clock      *clock
	meters     map[string]*dynamo.Meter
	turn       sync.Mutex // held by the request or the invocation that goes on
	parked     chan struct{}
	ended      chan asl.Result

	mu       sync.Mutex
	function string // whose turn it is
	tally    *tally
}

// clock is a clock that moves at each look and that no machine can hurry. Its instants have the same number of digits.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(10 * time.Millisecond)
	return c.at
}

// pass lets time pass.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newID() string { return string(a2a.NewTaskID()) }

func newStack(ctx context.Context, store *storage, agents []*agent.Agent) (*stack, error) {
	s := &stack{
		storage: store, meters: map[string]*dynamo.Meter{}, tally: newTally(),
		parked: make(chan struct{}, 1), ended: make(chan asl.Result, 1), clock: &clock{at: begin.Add(time.Millisecond)},
	}
	now := s.clock.now
	hooks := s.hooks(now)
	known, err := catalog.New(agents...)
	if err != nil {
		return nil, err
	}
	policies, err := policy.Shipped()
	if err != nil {
		return nil, err
	}
	offered, err := offer.Agents(known, policies)
	if err != nil {
		return nil, err
	}
	authority := func(function string, name func(ledger.Ledger) ledger.Ledger) *ledger.Authority {
		s.meters[function] = dynamo.NewMeter(store.client)
		return &ledger.Authority{Ledger: following{name(store.ledger(s.meters[function])), s.streamed}, Now: now, NewID: newID}
	}
	bucket := blobs.New(objects{store.s3, s.charge}, store.bucket)
	stepAuthority := authority(fnStep, func(l ledger.Ledger) ledger.Ledger {
		return acts{l, s.meters[fnStep], func(name string, u dynamo.Units) { s.add(s.whose(), name, u) }}
	})
	steps := runner.New(runner.Config{
		Authority: stepAuthority, Blobs: bucket, Agents: known, Rand: middle, Logger: slog.New(slog.DiscardHandler),
		Lease: leaseTime, Renewal: renewalTime, Grace: lifecycle.DefaultGrace, Reserve: reserveTime,
	})
	s.handler = &dispatch.Handler{
		Dispatcher: &dispatch.Dispatcher{Authority: stepAuthority, Executions: s, Grace: lifecycle.DefaultGrace},
		Steps: func(ctx context.Context, in dispatch.Input, execution string, deadlineAt time.Time) (lifecycle.Outcome, error) {
			return steps.Run(ctx, runner.Input{Ref: in.Ref(), Generation: in.Generation, Execution: execution, DeadlineAt: deadlineAt})
		},
	}
	if err := s.newFollower(ctx, store, hooks); err != nil {
		return nil, err
	}
	apiAuthority := authority(fnAPI, func(l ledger.Ledger) ledger.Ledger { return l })
	s.door, err = api.New(api.Config{
		Authority: apiAuthority, Blobs: bucket, Agents: offered, Now: now, NewID: newID,
		Executions: &dispatch.Dispatcher{Authority: apiAuthority, Executions: s, Grace: lifecycle.DefaultGrace},
		Callers:    anybody{},
		Keys:       hooks.Ring,
		Push:       hooks.Door(),
	})
	if err != nil {
		return nil, err
	}
	machine, err := asl.Parse([]byte(statemachine.Task), map[string]string{"StepFunctionArn": arnOf + fnStep, "SettleFunctionArn": arnOf + fnSettle})
	if err != nil {
		return nil, err
	}
	s.runtime, err = asl.NewRuntime(machine, asl.Options{
		Invoke: s.invoke, Now: now, Rand: middle, NewToken: newToken,
		OnTransition: func(_, state string) { s.counted(func(t *tally) { t.States[state]++ }) },
		OnEnd:        func(_ string, r asl.Result) { s.ended <- r },
	})
	if err != nil {
		return nil, err
	}
	s.url, s.close, err = serve(s.door)
	return s, err
}

// anybody may call: keys and tokens are checked without a database.
type anybody struct{}

// Authenticate implements auth.Authenticator.
func (anybody) Authenticate(*http.Request) (auth.Principal, error) {
	return auth.Principal{Tenant: tenant, Name: principal, Scopes: []auth.Scope{auth.Caller}}, nil
}

// Schemes implements auth.Authenticator.
func (anybody) Schemes() []auth.Scheme { return nil }

// middle stands for every random number.
func middle() float64 { return 0.5 }

// tokenBytes is how long callback tokens of Step Functions are, about.
const tokenBytes = 600

func newToken() string { return fmt.Sprintf("%0*s", tokenBytes, newID()) }

// serve serves on loopback until it is closed.
func serve(h http.Handler) (url string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // it ends when it is closed
	}()
	return "http://" + listener.Addr().String(), func() { _ = server.Close(); <-done }, nil
}

func (s *stack) counted(count func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(s.tally)
}

func (s *stack) add(function, name string, u dynamo.Units) {
	s.counted(func(t *tally) { t.add(function, name, u) })
}

func (s *stack) did(function string, w work) { s.counted(func(t *tally) { t.did(function, w) }) }

// whose turn it is.
func (s *stack) whose() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.function
}

// charge counts what the function does whose turn it is.
func (s *stack) charge(w work) { s.did(s.whose(), w) }

// take gives a function its turn; what it costs goes to the tally when the turn ends, under a name.
func (s *stack) take(function string) (end func(name string)) {
	s.turn.Lock()
	s.mu.Lock()
	s.function = function
	s.mu.Unlock()
	meter := s.meters[function]
	if function == fnSettle {
		meter = s.meters[fnStep] // one handler does the operations of both
	}
	before := meter.Spent()
	named := s.named(function)
	return func(name string) {
		defer s.turn.Unlock()
		u := meter.Spent().Sub(before)
		s.did(function, work{Invocations: 1, Dynamo: u.Requests})
		already := s.named(function)
		u.Writes -= already.Writes - named.Writes
		u.Reads -= already.Reads - named.Reads
		s.add(function, name, u)
	}
}

// named is what acts with names of their own have cost a function.
func (s *stack) named(function string) (sum spent) {
	s.counted(func(t *tally) {
		for a, n := range t.Acts {
			if a.Function == function {
				sum.Writes, sum.Reads = sum.Writes+n.Writes, sum.Reads+n.Reads
			}
		}
	})
	return sum
}

// invoke is Lambda, called by the state machine.
func (s *stack) invoke(ctx context.Context, arn string, payload json.RawMessage) (json.RawMessage, error) {
	turn, cancel := context.WithDeadline(context.WithoutCancel(ctx), endsAt)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	end := s.take(arn[len(arnOf):])
	out, err := s.handler.Handle(turn, payload)
	end(reading)
	var asked dispatch.Operation
	if json.Unmarshal(payload, &asked) == nil && asked.Op == dispatch.OpAwait {
		s.parked <- struct{}{}
	}
	return out, err
}

// Start implements dispatch.Executions.
func (s *stack) Start(_ context.Context, name string, in dispatch.Input) error {
	s.charge(work{Calls: 1})
	input, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return s.runtime.Start(name, input) // each name is new: one task, one generation
}

// Resume implements dispatch.Executions.
func (s *stack) Resume(_ context.Context, token string) error {
	s.charge(work{Calls: 1})
	return s.runtime.SendTaskSuccess(token, json.RawMessage("{}"))
}

// stop ends everything.
func (s *stack) stop(ctx context.Context) error {
	s.close()
	return errors.Join(s.runtime.Stop(ctx), s.deliveries.runtime.Stop(ctx))
}

// wait waits until the task is parked or has ended.
func (s *stack) wait(ctx context.Context) (ended bool, err error) {
	select {
	case <-s.parked:
		return false, nil
	case r := <-s.ended:
		if r.Err != nil {
			return true, fmt.Errorf("its execution failed: %w", r.Err)
		}
		return true, nil
	case <-ctx.Done():
		return false, errors.New("it came to no end in time")
	}
}
