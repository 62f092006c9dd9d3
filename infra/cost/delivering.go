package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/local/asl"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
	"github.com/holdfast-a2a/holdfast/statemachine"
)

// inDelivery is what stands before the names of the delivery machine's states.
const inDelivery = "delivery "

// deliveries are the delivery machine and its function. An execution that was started
// begins when it is its turn.
type deliveries struct {
	stack   *stack
	handler *webhook.Handler
	runtime *asl.Runtime
	begun   []webhook.Execution
	ended   chan asl.Result
}

// newDeliveries makes them; what they write is metered apart.
func (s *stack) newDeliveries(store *storage, hooks push.Config) (*deliveries, error) {
	s.meters[fnDeliver] = dynamo.NewMeter(store.client)
	hooks.Ledger = store.ledger(s.meters[fnDeliver])
	d := &deliveries{stack: s, ended: make(chan asl.Result, 1)}
	d.handler = &webhook.Handler{Sender: hooks.Sender, Endpoints: hooks.Ledger, Budget: 2 * webhook.Timeout, Logger: slog.New(slog.DiscardHandler)}
	machine, err := asl.Parse([]byte(statemachine.Delivery), map[string]string{"DeliverFunctionArn": arnOf + fnDeliver})
	if err != nil {
		return nil, err
	}
	d.runtime, err = asl.NewRuntime(machine, asl.Options{
		Invoke: d.invoke, Now: s.clock.now, Rand: middle, NewToken: newToken,
		OnTransition: func(_, state string) { s.counted(func(t *tally) { t.States[inDelivery+state]++ }) },
		OnEnd:        func(_ string, r asl.Result) { d.ended <- r },
	})
	return d, err
}

// Start implements webhook.Executions, for the stream function.
func (d *deliveries) Start(_ context.Context, _ string, x webhook.Execution) error {
	d.stack.did(fnStream, work{Calls: 1})
	d.begun = append(d.begun, x)
	return nil
}

// run runs what was started to its end, while the task waits.
func (d *deliveries) run(ctx context.Context) error {
	begun := d.begun
	d.begun = nil
	for _, x := range begun {
		x.Outcome.Seconds = d.pass(x.Outcome.Seconds)
		input, err := json.Marshal(x)
		if err == nil {
			err = d.runtime.Start(x.Name(), input)
		}
		if err != nil {
			return err
		}
		select {
		case r := <-d.ended:
			if r.Err != nil {
				return fmt.Errorf("a delivery's execution failed: %w", r.Err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pass lets the stack's clock pass instead of this machine's. It returns what is left to
// be waited for.
func (d *deliveries) pass(seconds int64) int64 {
	d.stack.clock.pass(time.Duration(seconds) * time.Second)
	return 0
}

// invoke is Lambda, called by the delivery machine.
func (d *deliveries) invoke(ctx context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
	end := d.stack.take(fnDeliver)
	out, err := d.handler.Handle(ctx, payload)
	end(delivering)
	var outcome webhook.Outcome
	if err == nil {
		err = json.Unmarshal(out, &outcome)
	}
	if err != nil {
		return nil, err
	}
	outcome.Seconds = d.pass(outcome.Seconds)
	return json.Marshal(outcome)
}

// failing is a receiver that takes everything but its first requests.
func failing(first int64) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) <= first {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}
