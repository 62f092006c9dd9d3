package ledger

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Commit is the one write: entries and everything that belongs to them.
type Commit struct {
	// Seen is the head as the caller saw it. The write is refused unless it still
	// stands (see Stands).
	Seen lifecycle.Head
	// Head replaces it. Counters are not part of it.
	Head lifecycle.Head
	// Entries follow Seen.Seq without gap. None for leases and generations.
	Entries []lifecycle.Entry
	// Artifacts are the artifacts that the entries touched, as they are afterwards.
	Artifacts []lifecycle.Artifact
	// Chunks are the receipts of the entries' chunks; each coordinate is new.
	Chunks []ChunkReceipt
	// Receipts remember answered events; each is new.
	Receipts []Receipt
	// Producer is how far an outside producer has come with this commit; nil when it
	// is none of its reports. What is there must be one behind. Without entries a receipt
	// says what the report has repeated.
	Producer *ProducerMark
	// Answered marks a pause as answered, in the same transaction; 0 for none.
	Answered int
}

// Expires says whether the commit sets when the task expires: it ends the task, or
// changes how long it can be read.
func (c Commit) Expires() bool {
	return c.Head.Terminal() && !c.Head.ExpiresAt.Equal(c.Seen.ExpiresAt)
}

// ChunkReceipt remembers what is at a coordinate (I6).
type ChunkReceipt struct {
	Artifact a2a.ArtifactID   `json:"artifact"`
	Revision int              `json:"revision"`
	Number   int              `json:"number"`
	Checksum lifecycle.Digest `json:"checksum"`
	Seq      uint64           `json:"seq"`
}

// Creation is the first commit of a task.
type Creation struct {
	Head    lifecycle.Head
	Entries []lifecycle.Entry
	// Key is claimed for the task; nil when the submission has none. A note that is
	// forgotten when the task is accepted gives way.
	Key  *Key
	Note KeyNote
	// Endpoints came with the submission.
	Endpoints []Endpoint
}

// Key is a submission key within its scope. Hash covers principal, agent and key.
type Key struct {
	Tenant string
	Hash   lifecycle.Digest
}

// KeyNote is what a submission key remembers.
type KeyNote struct {
	Task          a2a.TaskID       `json:"task"`
	RequestDigest lifecycle.Digest `json:"requestDigest"`
	Op            string           `json:"op"` // the operation that claimed it
	// ForgetAt is set when the task was purged: until then its key gives no other task.
	ForgetAt time.Time `json:"forgetAt,omitzero"`
}

// Expired says whether the key's task was purged.
func (n KeyNote) Expired() bool { return !n.ForgetAt.IsZero() }

// Forgotten says whether the key is free again, though the note may still be there.
func (n KeyNote) Forgotten(now time.Time) bool { return n.Expired() && !now.Before(n.ForgetAt) }

// Receipt is the remembered answer to an event of a client or an outside
// producer, found again by producer and event ID.
type Receipt struct {
	Producer string           `json:"producer"`
	EventID  string           `json:"eventId"`
	Digest   lifecycle.Digest `json:"digest"` // of what was sent
	Seq      uint64           `json:"seq"`    // the entry that accepted it
	Hits     int              `json:"hits"`

	// Of events of outside producers.

	Fence  uint64           `json:"fence,omitempty"`  // that was granted, or that it came under
	Reason lifecycle.Reason `json:"reason,omitempty"` // it was refused, and is again
	Detail string           `json:"detail,omitempty"`
	// Op is the operation that wrote the receipt. A caller whose answer was lost finds
	// its own success by it.
	Op string `json:"op,omitempty"`
}

// Rejected is a command that was refused, kept beside the task.
type Rejected struct {
	At       time.Time        `json:"at"`
	Producer string           `json:"producer"`
	EventID  string           `json:"eventId,omitempty"`
	Reason   lifecycle.Reason `json:"reason"`
	Detail   string           `json:"detail"`
	Fence    uint64           `json:"fence,omitempty"`
}

// Counts are kept beside the head and never folded.
type Counts struct {
	Rejections int `json:"rejections"`
	Incidents  int `json:"incidents"` // rejections for conflicting content
	Hits       int `json:"hits"`
	// Quarantined counts output of outside producers that came after the task was
	// canceled.
	Quarantined int `json:"quarantined"`
	// Acts counts what operators did.
	Acts int `json:"acts,omitempty"`
}

// Token is the callback token of one attempt of an execution that waits.
type Token struct {
	Value      string    `json:"value"`
	Generation uint64    `json:"generation"`
	EnteredAt  time.Time `json:"enteredAt"` // when the execution entered the waiting state
	Attempt    int       `json:"attempt"`   // of that state, from 0
}

// Before orders tokens: a later generation wins, then a later entry into the
// waiting state, then a later attempt of it.
func (t Token) Before(u Token) bool {
	if t.Generation != u.Generation {
		return t.Generation < u.Generation
	}
	if !t.EnteredAt.Equal(u.EnteredAt) {
		return t.EnteredAt.Before(u.EnteredAt)
	}
	return t.Attempt < u.Attempt
}

// Parked is the meeting point of token and answer.
type Parked struct {
	Token    Token
	Answered bool
}

// ListQuery selects tasks of one tenant.
type ListQuery struct {
	Tenant string
	Agent  string // empty: all
	// AgentVersion selects one version; 0: all.
	AgentVersion int
	ContextID    string
	State        a2a.TaskState
	// Since keeps tasks whose status changed at or after it.
	Since time.Time
	// Now hides what has expired.
	Now   time.Time
	After *ListCursor
	Limit int
}

// ListCursor is the last task of a page.
type ListCursor struct {
	StatusAt time.Time
	Task     a2a.TaskID
}

// Page is a page of heads. Next is nil on the last one.
type Page struct {
	Heads []lifecycle.Head
	Next  *ListCursor
}

// Counted is how many tasks there are. More: as many were counted, and there may be more.
type Counted struct {
	Tasks int
	More  bool
}

// DueCursor is the last task of a page of due tasks.
type DueCursor struct {
	DueAt time.Time
	Ref   lifecycle.Ref
}

// DuePage is a page of heads that are due.
type DuePage struct {
	Heads []lifecycle.Head
	Next  *DueCursor
	// Unread are those of tasks that are due as well: they are left out, and keep nobody
	// from the others.
	Unread []Unread
}
