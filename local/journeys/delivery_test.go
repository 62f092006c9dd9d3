package journeys_test

// The delivery machine as it is deployed, run by local/asl with its function, the sender, a
// first attempt as the stream function makes it, and the sweep, in fake time. Receivers
// answer in the process; the updates are made up; the ledger is the in-memory model.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// courier is a deployment's webhooks: its functions, its state machine, and a receiver.
type courier struct {
	*testing.T
	ledger  *ledgertest.Memory
	hooks   push.Config
	ref     lifecycle.Ref
	runtime *asl.Runtime
	fault   func() error // before and after the function, if there is to be one

	mu       sync.Mutex
	updates  []webhook.Update
	answer   func(n int, seq uint64) int
	requests []uint64
	taken    []uint64
	states   map[string][]string
	ended    map[string]asl.Result
}

func newCourier(t *testing.T, answer func(n int, seq uint64) int) *courier {
	t.Helper()
	c := &courier{T: t, ledger: ledgertest.NewMemory(), answer: answer, states: map[string][]string{}, ended: map[string]asl.Result{}}
	c.ref = lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	auth := &ledger.Authority{Ledger: c.ledger, Now: time.Now, NewID: a2a.NewMessageID}
	_, err := auth.Create(t.Context(), c.ref, lifecycle.Submit{
		ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do")), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err == nil {
		e := ledger.Endpoint{ID: "hook", URL: "https://hook.example/", Agent: "agent", Base: "https://agent.example", Delivery: ledger.Delivery{Incarnation: "one"}}
		err = c.ledger.PutEndpoint(t.Context(), c.ref, e)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.hooks = push.Config{
		Ledger: c.ledger, Ring: keyring.New(&keyring.Memory{}), Now: time.Now, Dice: func() float64 { return 0.5 }, NewID: a2a.NewMessageID,
		Grace: lifecycle.DefaultGrace, Logger: slog.New(slog.DiscardHandler), Executions: c,
	}
	c.restart()
	return c
}

// sender is one in a process of its own.
func (c *courier) sender(ctx context.Context) (*webhook.Sender, error) {
	s, err := c.hooks.Sender(ctx)
	if err != nil {
		return nil, err
	}
	s.Client = &http.Client{Transport: c}
	s.Updates = func(_ context.Context, _ ledger.DueDelivery, _ ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		rest := c.updates[min(int(after), len(c.updates)):]
		return slices.Clone(rest[:min(limit, len(rest))]), nil
	}
	return s, nil
}

// RoundTrip implements http.RoundTripper: the receiver.
func (c *courier) RoundTrip(r *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, seq)
	code := c.answer(len(c.requests), seq)
	if n := len(c.taken); code == http.StatusOK && (n == 0 || c.taken[n-1] != seq) { // the last one again is no surprise
		c.taken = append(c.taken, seq)
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// restart is Step Functions; another one has forgotten every execution, which is how they
// are stopped by hand.
func (c *courier) restart() {
	c.Helper()
	if c.runtime != nil {
		if err := c.runtime.Stop(context.Background()); err != nil {
			c.Error(err)
		}
	}
	const function = "arn:aws:lambda:us-east-1:000000000000:function:deliver"
	machine, err := asl.Parse([]byte(statemachine.Delivery), map[string]string{"DeliverFunctionArn": function})
	if err != nil {
		c.Fatal(err)
	}
	handler := &webhook.Handler{Sender: c.sender, Endpoints: c.hooks.Ledger, Budget: 2 * webhook.Timeout, Logger: c.hooks.Logger}
	c.runtime, err = asl.NewRuntime(machine, asl.Options{
		Invoke: func(ctx context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
			if err := c.trouble(); err != nil {
				return nil, err
			}
			out, err := handler.Handle(ctx, payload)
			if fault := c.trouble(); fault != nil {
				return nil, fault
			}
			return out, err
		},
		Now: time.Now, Rand: func() float64 { return 0.5 }, NewToken: a2a.NewMessageID,
		OnTransition: func(execution, state string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.states[execution] = append(c.states[execution], state)
		},
		OnEnd: func(execution string, r asl.Result) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.ended[execution] = r
		},
	})
	if err != nil {
		c.Fatal(err)
	}
}

func (c *courier) trouble() error {
	if c.fault == nil {
		return nil
	}
	return c.fault()
}

// Start implements webhook.Executions, as infra/stepfn does.
func (c *courier) Start(_ context.Context, name string, x webhook.Execution) error {
	input, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return c.runtime.Start(name, input) // no name is told twice here
}

// commit adds updates, and tells the stream function of the last one.
func (c *courier) commit(n int, final bool) {
	c.Helper()
	c.mu.Lock()
	for range n {
		seq := uint64(len(c.updates) + 1)
		c.updates = append(c.updates, webhook.Update{Seq: seq, Body: fmt.Appendf(nil, `{"update":%d}`, seq)})
	}
	c.updates[len(c.updates)-1].Final = final
	last := c.updates[len(c.updates)-1].Seq
	c.mu.Unlock()
	s, err := c.sender(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	fast := &webhook.Fast{Sender: s, Budget: 3 * time.Second, Beside: 8}
	if again := fast.Tell(c.Context(), []ledger.Change{push.Change(c.ref, last)}); len(again) > 0 {
		c.Errorf("to come again: %v", again)
	}
}

// sweep is the schedule, for as long.
func (c *courier) sweep(long time.Duration) {
	c.Helper()
	planner := c.hooks.Planner()
	sweeper := c.hooks.Sweeper(planner, planner.Hand)
	sweeper.Head = func(context.Context, ledger.DueDelivery) (uint64, bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := len(c.updates)
		return uint64(n), c.updates[n-1].Final, nil
	}
	for end := time.Now().Add(long); time.Now().Before(end); {
		<-time.After(time.Minute)
		if _, err := sweeper.Run(c.Context()); err != nil {
			c.Error(err)
		}
	}
	synctest.Wait()
}

func (c *courier) delivery() ledger.Delivery {
	c.Helper()
	e, err := c.ledger.Endpoint(c.Context(), c.ref, "hook")
	if err != nil {
		c.Fatal(err)
	}
	return e.Delivery
}

// everything holds what was taken against what there was: all of it, once, in order.
func (c *courier) everything() {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, seq := range c.taken {
		if seq != uint64(i+1) {
			c.Fatalf("update %d was taken after %d", seq, i)
		}
	}
	if len(c.taken) != len(c.updates) {
		c.Errorf("%d updates of %d were taken", len(c.taken), len(c.updates))
	}
}

// transitions are those of all executions, and what they ended with.
func (c *courier) transitions() (n int) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, states := range c.states {
		n += len(states)
		if r, ended := c.ended[name]; !ended || r.Err != nil {
			c.Errorf("execution %s: %+v", name, r)
		}
	}
	return n
}

// Case 51: 500, 500, 200. The first attempt is the stream function's; the machine makes the
// others, for three transitions each and one at the end.
func TestDeliveryMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourier(t, func(n int, _ uint64) int {
			if n <= 2 {
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		c.commit(3, true)
		<-time.After(2 * time.Minute)
		synctest.Wait()
		c.everything()
		if n := c.transitions(); n != 7 || len(c.states) != 1 || len(c.requests) != 5 {
			t.Errorf("%d transitions in %v, %d requests", n, c.states, len(c.requests))
		}
		if d := c.delivery(); !d.DueAt.IsZero() || !d.Idle() || d.Generation != 1 {
			t.Errorf("at the end: %+v", d)
		}
		c.restart()
	})
}

// Case 51: a receiver that is down for a day, while its task goes on: one execution waits
// with the ladder, and brings everything when it is up. The sweep finds nothing to do.
func TestDeliveryMachineThroughAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(24 * time.Hour)
		c := newCourier(t, func(int, uint64) int {
			if time.Now().Before(up) {
				return http.StatusBadGateway
			}
			return http.StatusOK
		})
		for range 24 {
			c.commit(10, false)
			c.sweep(time.Hour)
		}
		c.commit(1, true)
		c.sweep(48 * time.Hour)
		c.everything()
		if n := c.transitions(); len(c.states) != 1 || n != 3*(len(c.requests)-len(c.taken))+1 {
			t.Errorf("%d transitions of %d executions for %d requests and %d updates", n, len(c.states), len(c.requests), len(c.taken))
		}
		c.restart()
	})
}

// Functions are throttled, end without an answer before or after their work, and
// executions are stopped by hand. The sweep begins others, the order holds, and what comes
// twice comes twice because somebody died over it.
func TestDeliveryMachineDies(t *testing.T) {
	begun := 0
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 7))
			c := newCourier(t, nil)
			deaths := 0
			c.answer = func(int, uint64) int { // under the lock
				if dice.IntN(3) == 0 {
					return http.StatusServiceUnavailable
				}
				return http.StatusOK
			}
			c.fault = func() error {
				c.mu.Lock()
				defer c.mu.Unlock()
				switch dice.IntN(8) {
				case 0:
					return &asl.Error{Name: "Lambda.TooManyRequestsException"}
				case 1:
					deaths++
					return &asl.Error{Name: "Sandbox.Timedout"}
				case 2:
					deaths++
					return &asl.Error{Name: "Lambda.ResourceNotFoundException"} // not retried: the execution ends red
				}
				return nil
			}
			for i := range 12 {
				c.commit(3, i == 11)
				if c.sweep(5 * time.Minute); dice.IntN(4) == 0 {
					c.restart()
				}
			}
			c.fault = nil
			c.sweep(4 * 24 * time.Hour)
			c.everything()
			if d := c.delivery(); !d.Idle() || !d.DueAt.IsZero() || d.State != ledger.DeliveryActive {
				t.Errorf("seed %d: at the end %+v", seed, d)
			}
			begun += len(c.states)
			c.restart()
		})
	}
	if begun < 30 {
		t.Errorf("only %d executions: nothing has died", begun)
	}
}

// A receiver that fails once for every update keeps an execution busy for longer than its
// history may be: it hands over in time, by the sweep.
func TestDeliveryMachineHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := map[uint64]bool{}
		c := newCourier(t, func(_ int, seq uint64) int {
			if !failed[seq] {
				failed[seq] = true
				return http.StatusInternalServerError
			}
			return http.StatusOK
		})
		const many = 3*webhook.MaxTurns + 10
		c.commit(many, true)
		c.sweep(24 * time.Hour)
		c.everything()
		c.transitions()
		if len(c.states) != 4 || len(c.requests) != 2*many {
			t.Errorf("%d executions, %d requests", len(c.states), len(c.requests))
		}
		for name, r := range c.ended {
			if r.Events > 9*(webhook.MaxTurns+1) {
				t.Errorf("execution %s has a history of %d events", name, r.Events)
			}
		}
		c.restart()
	})
}
