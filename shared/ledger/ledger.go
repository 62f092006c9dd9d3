// Package ledger is the port to the only source of truth about tasks, and the
// one optimistic loop that writes to it.
//
// A [Ledger] is an adapter: DynamoDB in production, one SQLite file in the
// embedded default. Both pass the suite in ledgertest. The port keeps
// DynamoDB's limits: a commit is one transaction of at most 100 items and 4 MB,
// reads nothing, returns no new values, and every write is guarded by what its
// caller has seen.
//
// [Authority] is what the rest of the product uses: it decides a command by the
// rules of package lifecycle, gives the resulting entries their sequence, commits
// them, and recognises its own success when an answer was lost.
package ledger

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Ledger is the whole port. Users take the part that they need.
type Ledger interface {
	Tasks
	Effects
	Tokens
	Endpoints
	Findings
	Index
	Feed
	Purges
}

// Tasks reads and writes the history of tasks. All reads are strongly
// consistent: they see every commit that was answered before they began.
type Tasks interface {
	// Create writes a new task with its first entry and claims its submission key,
	// as one transaction. *KeyTaken: the key belongs to another task (or to this one,
	// when an earlier answer was lost). *Conflict: the task ID exists.
	Create(ctx context.Context, c Creation) error
	// Commit writes entries, the head and what belongs to them as one transaction,
	// if the head is still as the caller saw it. *Conflict: it is not, or a producer's
	// mark is not one behind. *ReceiptKnown: the head stands, and a receipt is there
	// already. ErrNotFound: there is no such task.
	Commit(ctx context.Context, c Commit) error
	// MarkCancel puts a cancellation on the head for the holder to meet, guarded by
	// the fence and by somebody holding the lease, not by the sequence. The first
	// mark stays. Nothing else of the head changes. *Conflict: another fence, or
	// nobody holds the lease (as when the task has ended).
	MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, op string) error
	// Head reads the head. ErrNotFound: there is none.
	Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error)
	// Entries reads up to limit entries after a sequence, in order; 0 for all that
	// there are. An unknown task has none.
	Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error)
	// Artifacts reads how far the task's artifacts are, by ID. An unknown task has
	// none.
	Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error)
	// Chunk reads what stands at a coordinate. ErrNotFound: nothing.
	Chunk(ctx context.Context, ref lifecycle.Ref, artifact a2a.ArtifactID, revision, number int) (ChunkReceipt, error)
	// Key reads a submission key. ErrNotFound: never used, or forgotten. A note that is
	// forgotten may still be there for a while; see KeyNote.Forgotten.
	Key(ctx context.Context, key Key) (KeyNote, error)
	// Receipt reads the remembered answer to an event. ErrNotFound: none.
	Receipt(ctx context.Context, ref lifecycle.Ref, producer, eventID string) (Receipt, error)
	// Hit counts a lookup of a receipt that answered a repeated event.
	Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error
	// Producer reads how far an outside producer's count has come; a mark without a
	// sequence when nothing of it was accepted.
	Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ProducerMark, error)
	// Refuse keeps a refused report of an outside producer beside the task: it counts
	// the rejection, keeps it, and remembers it under the receipt, as one transaction.
	// Beyond lifecycle.MaxRejections it only counts; the same holds for what is late,
	// with lifecycle.MaxQuarantined. *ReceiptKnown: the event was answered before, and
	// nothing is counted.
	Refuse(ctx context.Context, ref lifecycle.Ref, r Refusal) error
	// Quarantine reads what is kept of late output, oldest first. An unknown task has
	// none.
	Quarantine(ctx context.Context, ref lifecycle.Ref) ([]Quarantined, error)
	// Reject keeps a rejection beside the task, up to lifecycle.MaxRejections, and
	// counts it. It never changes the folded head.
	Reject(ctx context.Context, ref lifecycle.Ref, r Rejected) error
	// Rejections reads what was kept, oldest first. An unknown task has none.
	Rejections(ctx context.Context, ref lifecycle.Ref) ([]Rejected, error)
	// Act keeps beside the task what an operator did, and counts it. It never changes the
	// folded head, and takes ended tasks as well. ErrNotFound: there is no such task.
	// ErrActsFull: it has no place left (Acted.Places), and nothing was written.
	Act(ctx context.Context, ref lifecycle.Ref, a Acted) error
	// Acts reads what was kept, oldest first. An unknown task has none.
	Acts(ctx context.Context, ref lifecycle.Ref) ([]Acted, error)
	// Counts reads the counters beside the head. ErrNotFound: there is no such task.
	Counts(ctx context.Context, ref lifecycle.Ref) (Counts, error)
	// Watch returns when the task may have entries after a sequence, or with the
	// context's error. It may return early; it must not miss.
	Watch(ctx context.Context, ref lifecycle.Ref, after uint64) error
}

// Effects keeps the records of outside calls.
type Effects interface {
	// Effect reads a record. ErrNotFound: never begun.
	Effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (lifecycle.Effect, error)
	// EffectList reads all records of a task, by visit and name. An unknown task has
	// none.
	EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error)
	// Intend writes an intent before its call. It is guarded by the lease: the
	// head's fence, no cancellation requested, not ended (*Conflict), and by the
	// record's revision being one below the new one (ErrEffectChanged).
	Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error
	// Settle writes what became of a call, guarded only by the record's revision
	// being one below the new one (ErrEffectChanged): the call has happened,
	// whoever holds the lease now.
	Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error
}

// Tokens is where an execution that parks and an answer that resumes it meet.
// Both sides write first and read afterwards, so that whoever comes second sees
// both.
type Tokens interface {
	// Park stores the callback token of an execution that waits on a pause. A later
	// order (later generation, or later attempt of the same one) overwrites an
	// earlier one, never the reverse. It returns the item as it is afterwards.
	Park(ctx context.Context, ref lifecycle.Ref, pause int, t Token) (Parked, error)
	// Parked reads the item; zero when nobody has written it.
	Parked(ctx context.Context, ref lifecycle.Ref, pause int) (Parked, error)
}

// Index finds tasks. Results may be stale by a moment; callers read the head
// before they act on one.
type Index interface {
	// List reads a page of tasks, latest status first, then by task ID descending. A page
	// may be short, or empty, and yet have a Next: an adapter bounds what one call reads.
	List(ctx context.Context, q ListQuery) (Page, error)
	// Count counts what List would give over all pages, or as far as the adapter counts.
	Count(ctx context.Context, q ListQuery) (Counted, error)
	// Due reads a page of tasks of all tenants whose DueAt is not after an instant,
	// earliest first.
	Due(ctx context.Context, before time.Time, after *DueCursor, limit int) (DuePage, error)
}

// Feed is the change feed: every entry of every task, in an order in which each
// task's entries ascend. Items of one commit may arrive apart.
type Feed interface {
	// Changes reads up to limit items after a position, "" for the beginning.
	Changes(ctx context.Context, after string, limit int) ([]Change, error)
}

// Change is one item of the feed.
type Change struct {
	Position string
	Ref      lifecycle.Ref
	Entry    lifecycle.Entry
}

// Blobs keeps large bytes. They are written before the commit that names them
// and removed with their task; a blob that no commit names does no harm.
type Blobs interface {
	// Put stores bytes durably under their digest. Doing it again changes nothing.
	Put(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest, content []byte) error
	// Get reads a blob and checks it against its digest. ErrNotFound: there is none.
	Get(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest) ([]byte, error)
	// DeleteAll removes everything that belongs to a task.
	DeleteAll(ctx context.Context, ref lifecycle.Ref) error
}
