package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// recorder is a test that is allowed to fail.
type recorder struct {
	ctx      context.Context
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(fn func())        { r.cleanups = append(r.cleanups, fn) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failuresOf runs a test that may fail and returns what it said.
func failuresOf(t *testing.T, body func(t agenttest.TB)) string {
	t.Helper()
	r := &recorder{ctx: t.Context()}
	over := make(chan struct{})
	go func() {
		defer close(over)
		body(r)
	}()
	<-over
	for _, fn := range r.cleanups {
		fn()
	}
	return strings.Join(r.failures, "\n")
}

// step makes an agent of one step.
func step[S any](run func(context.Context, *agent.Task[S]) (agent.Next, error)) *agent.Agent {
	return agent.New("one", 1, agent.Step[S]{Name: "one", Run: run})
}

type trip struct{ City, Booking string }

// hotel counts what reaches the other side.
type hotel struct {
	byKey map[string]string
	calls int
	err   error
}

func (h *hotel) reserve(_ context.Context, key string) (string, error) {
	h.calls++
	if h.err != nil {
		return "", h.err
	}
	if h.byKey == nil {
		h.byKey = map[string]string{}
	}
	if h.byKey[key] == "" {
		h.byKey[key] = fmt.Sprintf("R%d", len(h.byKey)+1)
	}
	return h.byKey[key], nil
}

// travel asks for a city and books a hotel there.
func travel(h *hotel, opts ...agent.EffectOption) *agent.Agent {
	return agent.New("travel", 1,
		agent.Step[trip]{Name: "where", Run: func(context.Context, *agent.Task[trip]) (agent.Next, error) {
			return agent.Pause("Which city?", "book"), nil
		}},
		agent.Step[trip]{Name: "book", Run: func(ctx context.Context, t *agent.Task[trip]) (agent.Next, error) {
			t.State.City = agent.Text(t.Message)
			ref, err := agent.Effect(ctx, t, "reserve", h.reserve, append([]agent.EffectOption{agent.Request(t.State.City)}, opts...)...)
			if err != nil {
				return agent.Next{}, err
			}
			t.State.Booking = ref
			return agent.Complete("Booked " + ref), nil
		}},
	)
}

var errRefused = errors.New("connection refused")
