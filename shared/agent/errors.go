package agent

import (
	"errors"
	"fmt"
	"time"
)

// permanent marks an error that no further attempt can mend.
type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Permanent wraps an error that no further attempt can mend: the task fails with
// its text. Every other error of a step is tried again.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

// IsPermanent says whether an error was marked by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanent](err)
	return ok
}

// notDone marks an error of an effect whose call surely did nothing.
type notDone struct{ err error }

func (n *notDone) Error() string { return n.err.Error() }
func (n *notDone) Unwrap() error { return n.err }

// NotDone wraps an error of an effect's call when it is certain that the call did
// nothing: the connection was refused, the other side answered that it declined.
// Every other error leaves the effect in doubt.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

// IsNotDone says whether an error was marked by NotDone.
func IsNotDone(err error) bool {
	_, ok := errors.AsType[*notDone](err)
	return ok
}

// InDoubt is returned by Effect when the call must not be made now: an earlier
// caller may still be at it (Until), or an operator must settle it (Held). A step
// returns it as it is; it is no failed attempt.
type InDoubt struct {
	Effect string
	Until  time.Time // zero when held
	Held   bool
}

// Error implements error.
func (d *InDoubt) Error() string {
	if d.Held {
		return fmt.Sprintf("effect %q is in doubt and held for an operator", d.Effect)
	}
	return fmt.Sprintf("effect %q is in doubt until %s", d.Effect, d.Until.Format(time.RFC3339Nano))
}
