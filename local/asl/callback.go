package asl

import (
	"encoding/json"
	"fmt"
)

// SendTaskSuccess ends the attempt that has the token, with output as its result. A token is open from the moment when
// its invocation begins, so a callback may come before the invocation returned; the execution then goes on at once. Errors:
// [ErrTaskTimedOut], [ErrTaskNotExist], [ErrInvalidOutput], [ErrStopped].
func (r *Runtime) SendTaskSuccess(token string, output json.RawMessage) error {
	if len(output) > maxPayload {
		return fmt.Errorf("%w: larger than 256 KiB", ErrInvalidOutput)
	}
	if !json.Valid(output) {
		return fmt.Errorf("%w: not JSON", ErrInvalidOutput)
	}
	return r.callBack(token, output, nil)
}

// SendTaskFailure ends the attempt that has the token with an error, which Retry and Catch match by name. A name is cut
// after 256 characters, a cause after 32,768. Errors: [ErrTaskTimedOut], [ErrTaskNotExist], [ErrStopped].
func (r *Runtime) SendTaskFailure(token, name, cause string) error {
	return r.callBack(token, nil, newError(name, cause))
}

func (r *Runtime) callBack(token string, output json.RawMessage, fault *Error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return ErrStopped
	}
	e := r.tokens[token]
	if e == nil {
		if r.closedTokens.has(token) {
			return ErrTaskTimedOut
		}
		return ErrTaskNotExist
	}
	r.take(e, e.turn)
	r.goroutines++
	t, _ := e.at.state.(*task) // only a task issues tokens
	go func() { r.work(e, t.conclude(r, e, output, fault)) }()
	return nil
}
