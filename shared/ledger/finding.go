package ledger

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Findings keeps, beside the tasks, which of them have met trouble, so that whoever
// operates finds them without looking at every task. It is no part of a task's
// history and never changes one; a finding that is lost does no task harm.
type Findings interface {
	// Note says that something of a kind was met on a task at an instant, so many times;
	// with the zero Ref, on no task of anybody's. Met again at most spell after the last
	// time it is added; later, the count begins anew. The task need not exist.
	Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error
	// Forget says that what was found is over. Doing it again changes nothing; what was
	// met since it was found stays.
	Forget(ctx context.Context, f Finding, kind string) error
	// Found reads what was met of a kind, tenant by tenant, each one's latest first. Like
	// all indexes it may be stale by a moment, and sorts by no less than the minute.
	Found(ctx context.Context, q FindingQuery) (FindingPage, error)
}

// Finding is what was met on a task, and not forgotten.
type Finding struct {
	Ref lifecycle.Ref
	// First and Last are when the spell began, and when it was met last.
	First, Last time.Time
	Count       int // times within the spell
}

// FindingQuery selects findings.
type FindingQuery struct {
	Kind string
	// Tenant's tasks, or everybody's with All.
	Tenant string
	All    bool
	// Since leaves out what was met last before it.
	Since time.Time
	Limit int
}

// FindingPage is what was found. More: there is more than the limit.
type FindingPage struct {
	Findings []Finding
	More     bool
	// Unread are those that are there and cannot be read: they are left out, and keep
	// nobody from the others.
	Unread []Unread
}

// Unread is what of a task is there and cannot be read.
type Unread struct {
	Ref lifecycle.Ref
	Err error
}

// CheckKind bounds the name of a kind. Adapters call it first.
func CheckKind(kind string) error {
	if kind == "" || !utf8.ValidString(kind) {
		return errors.New("a finding's kind is a name")
	}
	return bounded("a finding's kind", kind, lifecycle.MaxNameBytes)
}
