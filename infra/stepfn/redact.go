package stepfn

import (
	"errors"
	"strings"
)

// redacted is an error in whose text the callback token cannot be (I9). It can
// be compared, but hands out none of the errors inside: their text is Step
// Functions', which quotes a parameter that it finds wrong.
type redacted struct {
	text  string
	cause error
}

// Error is the code and the request ID when Step Functions answered, and else
// what went wrong on the way.
func (r *redacted) Error() string { return r.text }

// Is compares with the error that is kept inside.
func (r *redacted) Is(target error) bool { return errors.Is(r.cause, target) }

// answered is an error that Step Functions sent.
type answered interface {
	error
	ErrorCode() string
}

// requested is an error of a request that Step Functions received.
type requested interface {
	error
	ServiceRequestID() string
}

func withoutToken(err error, token string) error {
	text := err.Error()
	if token != "" {
		text = strings.ReplaceAll(text, token, "[callback token]")
	}
	if a, ok := errors.AsType[answered](err); ok {
		text = a.ErrorCode()
		if r, ok := errors.AsType[requested](err); ok && r.ServiceRequestID() != "" {
			text += ", request " + r.ServiceRequestID()
		}
	}
	return &redacted{text: text, cause: err}
}
