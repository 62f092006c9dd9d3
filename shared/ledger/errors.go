package ledger

import (
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var (
	// ErrNotFound: there is no such task, key, receipt, effect or blob in this
	// tenant.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: the write may or may not have happened; the same operation may
	// be tried again, and finds its own success.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrEffectChanged: the effect's record is not what the caller saw.
	ErrEffectChanged = errors.New("effect changed")
	// ErrBusy: the loop gave up after too many others came first.
	ErrBusy = errors.New("too many concurrent changes")
)

// IgnoreNotFound is for those to whom what was removed meanwhile is no trouble.
func IgnoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Conflict is a refused write: the head is not as the caller saw it. It carries
// what is there, as DynamoDB's old item does, so that the caller can decide
// again without another read.
type Conflict struct {
	Current lifecycle.Head
	// NextOp is the operation that wrote the entry after the one that the caller
	// saw; empty when there is none. Equal to one's own operation, it means that the
	// write had succeeded and only its answer was lost.
	NextOp string
}

// Error implements error.
func (c *Conflict) Error() string {
	return fmt.Sprintf("task %s is at entry %d, fence %d, generation %d", c.Current.Task, c.Current.Seq, c.Current.Fence, c.Current.Generation)
}

// KeyTaken is a submission key that belongs to a task already.
type KeyTaken struct{ Note KeyNote }

// Error implements error.
func (k *KeyTaken) Error() string { return "the submission key belongs to task " + string(k.Note.Task) }

// ReceiptKnown is an event that was answered before, by whoever came first while
// this caller was deciding: the first answer stands. From Commit it means that the
// head still stands.
type ReceiptKnown struct{ Receipt Receipt }

// Error implements error.
func (r *ReceiptKnown) Error() string {
	return fmt.Sprintf("event %q of %s was answered before", r.Receipt.EventID, r.Receipt.Producer)
}

// EventIDConflict is an event ID that came with two payloads. It wraps the rejection.
type EventIDConflict struct{ Err error }

// Error implements error.
func (c *EventIDConflict) Error() string { return c.Err.Error() }

// Unwrap gives the rejection.
func (c *EventIDConflict) Unwrap() error { return c.Err }
