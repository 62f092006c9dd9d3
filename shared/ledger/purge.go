package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// MaxPurged is how many records one piece of a purge removes at most. It bounds how
// long a writer of one file is kept from others, and what one request to a table costs.
const MaxPurged = 100

// Purges forgets tasks whose retention is over. A purge goes on in pieces, and each of
// its calls may be made again: it can die between any two of them, and two at once do
// no harm. See Purger, which makes them in order.
type Purges interface {
	// Expired reads a page of tasks of all tenants that have ended, whose ExpiresAt is
	// not after an instant, and of which something is left: earliest first, those whose
	// purge has begun among them. Like all indexes it may be stale by a moment.
	Expired(ctx context.Context, before time.Time, after *ExpiredCursor, limit int) (ExpiredPage, error)
	// BeginPurge takes a task out of the ledger, if it has ended and has expired at an
	// instant by what its head says now: from here on it has no head, no index has it,
	// and nothing can be added to it; what else there is of it goes piece by piece. One
	// that was begun is given again. *NotExpired; ErrNotFound: nothing is left of it.
	BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (Purge, error)
	// PurgePiece removes up to MaxPurged records of a task whose purge has begun, its
	// tokens and endpoints among them, and says whether there may be more. Of any other
	// task it removes nothing.
	PurgePiece(ctx context.Context, ref lifecycle.Ref) (removed int, more bool, err error)
	// EndPurge turns the task's submission key into a note until an instant, and then
	// removes the last trace of the task. A key that belongs to another task by now is
	// left alone. Doing it again changes nothing.
	EndPurge(ctx context.Context, p Purge, forgetAt time.Time) error
	// ForgetKeys removes up to limit notes whose ForgetAt is not after an instant, where
	// nothing else does (on DynamoDB, TTL does), and says how many.
	ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error)
}

// Purge is what is left of a task while it is removed.
type Purge struct {
	Ref       lifecycle.Ref
	ExpiresAt time.Time
	// Key is the hash of its submission key; empty for none.
	Key lifecycle.Digest
}

// ExpiredCursor is the last task of a page of expired ones.
type ExpiredCursor struct {
	ExpiresAt time.Time
	Ref       lifecycle.Ref
}

// ExpiredPage is a page of tasks to be purged. Next is nil on the last one.
type ExpiredPage struct {
	Refs []lifecycle.Ref
	Next *ExpiredCursor
}

// NotExpired is a purge that was refused: the task lives, or can be read until
// ExpiresAt.
type NotExpired struct {
	Ref       lifecycle.Ref
	ExpiresAt time.Time // zero: it has not ended
}

// Error implements error.
func (n *NotExpired) Error() string {
	if n.ExpiresAt.IsZero() {
		return fmt.Sprintf("task %s has not ended", n.Ref)
	}
	return fmt.Sprintf("task %s expires at %s", n.Ref, n.ExpiresAt.Format(time.RFC3339))
}

// Purger purges tasks. Whoever calls it (a sweep, a record of a stream) only says which
// task may be due: what the head says decides.
type Purger struct {
	Purges Purges
	Blobs  Blobs
	Now    func() time.Time
	// KeyNote is how long after its task has expired a submission key is remembered.
	KeyNote time.Duration
}

// Purge removes everything of a task, if its retention is over, and says how many
// records that were, blobs apart; the rest of an earlier purge counts as well. It goes
// on where an earlier one has died. An error that is a context's end, or ErrUnavailable,
// leaves the rest to the next one.
//
// *NotExpired: it is not to be purged. ErrNotFound: nothing is left of it.
func (p *Purger) Purge(ctx context.Context, ref lifecycle.Ref) (removed int, err error) {
	begun, err := p.Purges.BeginPurge(ctx, ref, p.Now())
	if err != nil {
		return 0, err
	}
	for more := true; more; {
		var n int
		n, more, err = p.Purges.PurgePiece(ctx, ref)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	if err := p.Blobs.DeleteAll(ctx, ref); err != nil {
		return removed, err
	}
	if err := p.Purges.EndPurge(ctx, begun, begun.ExpiresAt.Add(p.KeyNote)); err != nil {
		return removed, err
	}
	return removed + 1, nil // the head
}

// Gone says whether an error of Purge means that there was nothing to purge: somebody
// else has done it, or it is not time.
func Gone(err error) bool {
	_, early := errors.AsType[*NotExpired](err)
	return early || errors.Is(err, ErrNotFound)
}
