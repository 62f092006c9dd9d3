package integration_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Who calls: the tenant of the one API key.
const (
	tenant = "acme"
	apiKey = "integration-tests-0123456789abcdefghijk"
)

// plan is how a stack differs from the usual one.
type plan struct {
	build  func() (build, error) // of all functions; nil: the current one
	env    []string              // beside the usual variables, which it may change
	ledger string                // address of DynamoDB for the step function; empty: the server itself
	blobs  string                // of S3, likewise
	key    string                // that wraps the key ring; empty: it is not wrapped
	kms    string                // address of KMS; empty: the server itself
	// invocation is how long the functions of the state machine may run.
	invocation time.Duration
	// sweep is how often the sweep runs.
	sweep time.Duration
	// processes is how many each function may have at once.
	processes int
	// refused is told of every invocation of the state machine that failed.
	refused func(function, op string, err error)
}

// stack is everything that a deployment has, on tables of its own.
type stack struct {
	*testing.T
	plan    plan
	tables  dynamo.Names
	bucket  string
	machine *machine
	outside *outside
	url     string // of the API
	logs    *logs
	// ledger and auth are the tests' own, past every proxy.
	ledger *dynamo.Ledger
	auth   *ledger.Authority

	mu        sync.Mutex
	functions map[string]*lambdahost.Function
}

// newStack starts a stack that ends with the test.
func newStack(t *testing.T, p plan) *stack {
	t.Helper()
	if p.build == nil {
		p.build = current
	}
	p.invocation, p.sweep, p.processes = cmp.Or(p.invocation, time.Minute), cmp.Or(p.sweep, time.Second), cmp.Or(p.processes, 2)
	s := &stack{T: t, plan: p, logs: newLogs(t), functions: map[string]*lambdahost.Function{}}
	s.tables, s.bucket = newTables(t), newBucket(t)
	s.ledger = dynamo.New(tableClient, s.tables, dynamo.Options{PollFirst: lookEvery / 10, PollMost: lookEvery})
	s.auth = &ledger.Authority{Ledger: s.ledger, Now: time.Now, NewID: a2a.NewMessageID}
	s.outside = newOutside(t)
	t.Cleanup(s.close) // after the machine has stopped
	s.machine = newMachine(t, s.invoke)
	b := built(t, p.build)
	for _, name := range []string{fnAPI, fnStep, fnSettle, fnStream, fnDeliver, fnSweep} {
		s.deploy(name, b)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.front(s.function(fnAPI)).ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	s.url = front.URL
	s.sweepOften()
	return s
}

// environment is what the template sets for a function.
func (s *stack) environment(name string) []string {
	endpoint, objects := dynamoEndpoint, blobsEndpoint
	if name == fnStep {
		endpoint, objects = cmp.Or(s.plan.ledger, endpoint), cmp.Or(s.plan.blobs, objects)
	}
	env := []string{
		"HOLDFAST_TASKS_TABLE=" + s.tables.Tasks, "HOLDFAST_PRIVATE_TABLE=" + s.tables.Private, "HOLDFAST_BLOBS_BUCKET=" + s.bucket,
		"HOLDFAST_STATE_MACHINE=" + machineARN, "HOLDFAST_DELIVERY_MACHINE=" + deliveryARN, "HOLDFAST_SYSTEMS_URL=" + s.outside.url, "HOLDFAST_RESERVE=1s", "HOLDFAST_GRACE=1s",
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint, "AWS_ENDPOINT_URL_S3=" + objects, "AWS_ENDPOINT_URL_SFN=" + s.machine.url,
	}
	if s.plan.key != "" && (name == fnAPI || name == fnStream || name == fnDeliver) {
		env = append(env, "HOLDFAST_KMS_KEY="+s.plan.key, "AWS_ENDPOINT_URL_KMS="+cmp.Or(s.plan.kms, dynamoEndpoint))
	}
	if name == fnAPI {
		sum := sha256.Sum256([]byte(apiKey))
		env = append(env, "HOLDFAST_AUTH=keys", fmt.Sprintf(`HOLDFAST_API_KEYS=[{"tenant":%q,"name":"tests","sha256":%q}]`, tenant, hex.EncodeToString(sum[:])))
	}
	return append(env, s.plan.env...)
}

// deploy puts a function, or another build of one, in its place. Invocations that
// run are ended with their processes.
func (s *stack) deploy(name string, b build) {
	if old := s.swap(name, s.host(name, name, b)); old != nil {
		old.Close()
	}
}

// host is a function under a name of its own in the logs; env is beside what the
// template sets.
func (s *stack) host(name, log string, b build, env ...string) *lambdahost.Function {
	return lambdahost.New(lambdahost.Config{
		Binary: b.binary(name), Name: log, Env: append(s.environment(name), env...), Processes: s.plan.processes, Logs: s.logs.of(log), Now: time.Now,
	})
}

// beside is another function of the same build, which shares no memory with the one
// that is in its place, and ends with the test.
func (s *stack) beside(name, log string, env ...string) *lambdahost.Function {
	s.Helper()
	f := s.host(name, log, built(s.T, s.plan.build), env...)
	s.Cleanup(f.Close)
	return f
}

// swap puts a function in a place and gives the one that was there, whose invocations
// go on.
func (s *stack) swap(name string, f *lambdahost.Function) *lambdahost.Function {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.functions[name]
	s.functions[name] = f
	return old
}

// door is the address of an api function.
func (s *stack) door(f *lambdahost.Function) string {
	server := httptest.NewServer(s.front(f))
	s.Cleanup(server.Close)
	return server.URL
}

func (s *stack) function(name string) *lambdahost.Function {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.functions[name]
}

// front is API Gateway in front of a function.
func (s *stack) front(f *lambdahost.Function) *lambdahost.Front {
	return &lambdahost.Front{Function: f, Now: time.Now, Timeout: time.Minute}
}

// invoke calls a function for the state machine. What goes wrong has the name that
// Step Functions gives it.
func (s *stack) invoke(ctx context.Context, name string, payload json.RawMessage) (json.RawMessage, error) {
	out, err := s.function(name).Call(ctx, payload, time.Now().Add(s.plan.invocation))
	if err == nil {
		return out, nil
	}
	if s.plan.refused != nil {
		var asked struct {
			Op string `json:"op"`
		}
		_ = json.Unmarshal(payload, &asked) // the state machine's own
		s.plan.refused(name, asked.Op, err)
	}
	if failed, is := errors.AsType[*lambdahost.FunctionError](err); is {
		return nil, &asl.Error{Name: failed.Type, Cause: failed.Message}
	}
	switch {
	case errors.Is(err, lambdahost.ErrThrottled):
		return nil, &asl.Error{Name: "Lambda.TooManyRequestsException", Cause: err.Error()}
	case errors.Is(err, lambdahost.ErrClosed): // it is being deployed
		return nil, &asl.Error{Name: "Lambda.ServiceException", Cause: err.Error()}
	}
	return nil, err
}

// sweepOften is the schedule.
func (s *stack) sweepOften() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.plan.sweep)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := s.function(fnSweep).Call(ctx, []byte("{}"), time.Now().Add(time.Minute)); err != nil && ctx.Err() == nil && !errors.Is(err, lambdahost.ErrClosed) {
				s.Logf("the sweep failed: %v", err)
			}
		}
	}()
	s.Cleanup(func() {
		stop()
		<-done
	})
}

// close ends every process.
func (s *stack) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.functions {
		f.Close()
	}
}
