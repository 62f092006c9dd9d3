package lifecycle

import (
	"errors"
	"fmt"
	"slices"
)

// Reason says why a command is not allowed now. The strings are part of the
// ledger's format: rejections are remembered with them.
type Reason string

// Reasons.
const (
	// IllegalTransition: the state does not allow the move.
	IllegalTransition Reason = "illegal-transition"
	// ReceiptRequired: leaving auth-required needs an authorization receipt.
	ReceiptRequired Reason = "authorization-receipt-required"
	// ReceiptInvalid: the receipt is for another challenge, expired or used.
	ReceiptInvalid Reason = "authorization-receipt-invalid"
	// ReceiptMismatch: the terminal receipt is not the task's.
	ReceiptMismatch Reason = "receipt-mismatch"
	// StaleSequence: the producer's sequence was already passed.
	StaleSequence Reason = "stale-sequence"
	// SequenceGap: the producer's sequence skips some; retry when they are in.
	// Never remembered.
	SequenceGap Reason = "sequence-gap"
	// CoordinateGap: a chunk names a coordinate that is further than its artifact; retry
	// when what is before it is in. Never remembered.
	CoordinateGap Reason = "coordinate-gap"
	// PostTerminal: the task has ended (I2).
	PostTerminal Reason = "post-terminal"
	// FenceLost: the commit carries another fence than the head's (I3).
	FenceLost Reason = "fence-lost"
	// ConflictingContent: one identity, two contents (I6).
	ConflictingContent Reason = "conflicting-content"
	// PauseExpired: the reply came at or after the deadline.
	PauseExpired Reason = "pause-expired"
	// PauseMismatch: the reply does not name the open pause, which demands it.
	PauseMismatch Reason = "pause-mismatch"
	// LeaseHeld: somebody else holds the lease.
	LeaseHeld Reason = "lease-held"
	// Superseded: the execution belongs to an older generation.
	Superseded Reason = "generation-superseded"
	// CancelPending: a cancellation was requested; the holder must decide.
	CancelPending Reason = "cancel-requested"
	// NotDue: it is too early for this command.
	NotDue Reason = "not-due"
	// LimitReached: a limit of limits.go.
	LimitReached Reason = "limit-reached"
	// OpenArtifact: a task cannot complete with an artifact that is not sealed.
	OpenArtifact Reason = "open-artifact"
	// InvalidContent: what was sent could not be read back if it were stored.
	InvalidContent Reason = "invalid-content"
	// UnknownArtifact: append to an artifact or revision that does not exist or is
	// sealed.
	UnknownArtifact Reason = "unknown-artifact"
)

// Rejection is a command that is not allowed now. It is an answer, not a fault:
// asking again without a change gives the same.
type Rejection struct {
	Reason Reason
	Detail string
}

// Error implements error.
func (r *Rejection) Error() string { return string(r.Reason) + ": " + r.Detail }

// RejectedFor reports whether err is a rejection for one of the reasons.
func RejectedFor(err error, reasons ...Reason) bool {
	r, ok := errors.AsType[*Rejection](err)
	return ok && slices.Contains(reasons, r.Reason)
}

func reject(reason Reason, format string, args ...any) *Rejection {
	return &Rejection{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
