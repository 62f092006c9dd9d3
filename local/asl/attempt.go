package asl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// run makes one attempt: it invokes the function in the goroutine that it is called from. While it does, a timeout or a
// callback may take the execution over; the invocation then runs to its end, and its result is ignored.
func (t *task) run(r *Runtime, e *execution) move {
	limit, err := t.timeout.in(e)
	if err != nil {
		return move{kind: failed, err: err}
	}
	if t.callback {
		e.token = r.options.NewToken()
	}
	payload, err := t.payload.render(e)
	if err == nil {
		err = r.record(e, t.events())
	}
	if err != nil {
		return move{kind: failed, err: err}
	}
	turn, ok := r.begin(e, t, limit)
	if !ok {
		return move{kind: released}
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	output, fault := r.invoke(ctx, t.function, payload)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // its timer is about to say the same
		fault = timedOut(t, limit)
	}
	cancel()
	if !r.finish(e, t, turn, fault) {
		return move{kind: released}
	}
	return t.conclude(r, e, output, fault)
}

func timedOut(t *task, limit time.Duration) *Error {
	if t.callback {
		return newError(nameTimeout, fmt.Sprintf("no callback within %s", limit))
	}
	return newError(nameTimeout, fmt.Sprintf("no result within %s", limit))
}

// begin arms the attempt's timer and opens its token; false when the runtime is stopped.
func (r *Runtime) begin(e *execution, t *task, limit time.Duration) (turn uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return 0, false
	}
	turn = e.turn
	if t.callback {
		r.tokens[e.token] = e
	}
	e.timer = time.AfterFunc(limit, func() {
		if r.own(e, turn) {
			r.work(e, t.conclude(r, e, nil, timedOut(t, limit)))
		}
	})
	return turn, true
}

// finish takes the execution back from its attempt once the invocation has returned; false when someone else has it by
// now, or when it waits for a callback.
func (r *Runtime) finish(e *execution, t *task, turn uint64, fault *Error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.callback && fault == nil {
		if !r.stopped && e.turn == turn {
			r.setParked(e, true)
		}
		return false
	}
	return r.take(e, turn)
}

// invoke calls the function; a panic in it is an error.
func (r *Runtime) invoke(ctx context.Context, function string, payload json.RawMessage) (output json.RawMessage, fault *Error) {
	defer func() {
		if cause := recover(); cause != nil {
			output, fault = nil, newError(nameUnknown, fmt.Sprintf("panic: %v", cause))
		}
	}()
	output, err := r.options.Invoke(ctx, function, payload)
	if err != nil {
		return nil, asError(err)
	}
	return output, nil
}
