package lifecycle

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Ref names a task within its tenant. Every access to a ledger goes through
// both: a task cannot even be addressed from another tenant (I10).
type Ref struct {
	Tenant string
	Task   a2a.TaskID
}

// String is for logs and error messages.
func (r Ref) String() string { return r.Tenant + "/" + string(r.Task) }

// EntryType names what an entry records.
type EntryType string

// Entry types. The strings are the ledger's format and never change meaning; a
// changed payload raises the type version instead.
const (
	TypeSubmitted       EntryType = "submitted"        // the task exists
	TypeStarted         EntryType = "started"          // first lease: the task is working
	TypeProgress        EntryType = "progress"         // a status message while working
	TypeChunk           EntryType = "chunk"            // one piece of an artifact
	TypeCheckpoint      EntryType = "checkpoint"       // a step or sub-step moved on; callers do not see it
	TypePaused          EntryType = "paused"           // waits for input or authorization
	TypeWaiting         EntryType = "waiting"          // sleeps, or waits for the next attempt
	TypeReply           EntryType = "reply"            // the message that ended a pause
	TypeMessage         EntryType = "message"          // a message kept while waiting for authorization
	TypeAuthorized      EntryType = "authorized"       // a receipt closed the open challenge
	TypeCancelRequested EntryType = "cancel-requested" // somebody asked to cancel
	TypeEnded           EntryType = "ended"            // terminal; this entry is the task's receipt
)

// entryTypeVersion is the version written with every entry. Readers accept this
// and all earlier ones.
const entryTypeVersion = 1

// Entry is one event of a task in its envelope, as the ledger keeps it for ever.
type Entry struct {
	Task        a2a.TaskID `json:"task"`
	Seq         uint64     `json:"seq"` // 1, 2, 3 … within the task, no gaps (I1)
	Type        EntryType  `json:"type"`
	TypeVersion int        `json:"typeVersion"`
	// Payload is the canonical JSON (RFC 8785) of an Event.
	Payload       json.RawMessage `json:"payload"`
	PayloadDigest Digest          `json:"payloadDigest"`
	// Chain is the digest over the previous entry's chain and this envelope.
	Chain    Digest `json:"chain"`
	Producer string `json:"producer"`
	EventID  string `json:"eventId"`
	// SourceSeq is the producer's own count, 0 where it has none.
	SourceSeq  uint64    `json:"sourceSeq,omitempty"`
	ObservedAt time.Time `json:"observedAt"` // the producer's clock; orders nothing
	AcceptedAt time.Time `json:"acceptedAt"` // the authority's clock, milliseconds
	Holder     string    `json:"holder,omitempty"`
	Fence      uint64    `json:"fence,omitempty"`
	// OpID is the commit that wrote this entry. A caller whose answer was lost
	// finds its own success by it.
	OpID string `json:"opId"`
}

// UnmarshalJSON implements json.Unmarshaler. JSON encoders may write a payload
// with other spacing or escapes (encoding/json escapes HTML's characters); its
// canonical form, over which the digest was taken, is restored.
func (e *Entry) UnmarshalJSON(b []byte) error {
	type plain Entry
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	if DigestBytes(e.Payload) == e.PayloadDigest {
		return nil
	}
	if canonical, err := canonicalize(e.Payload); err == nil {
		e.Payload = canonical
	}
	return nil
}

// Source is who reports something, and under which lease.
type Source struct {
	Producer   string
	EventID    string // empty: derived from the operation
	Seq        uint64
	ObservedAt time.Time
	Holder     string
	Fence      uint64
}

// Event is what happened: the payload of an entry. Facets that do not apply are
// absent.
type Event struct {
	Type EntryType `json:"-"`
	// State is the state after the event, when the event changes it.
	State a2a.TaskState `json:"state,omitempty"`
	// Message is the caller's (submitted, reply, message) or the agent's.
	Message    *a2a.Message `json:"message,omitempty"`
	Submission *Submission  `json:"submission,omitempty"`
	Checkpoint *Checkpoint  `json:"checkpoint,omitempty"`
	Chunk      *Chunk       `json:"chunk,omitempty"`
	Pause      *Pause       `json:"pause,omitempty"`
	Wait       *Wait        `json:"wait,omitempty"`
	Receipt    *ReceiptRef  `json:"receipt,omitempty"`
	Cancel     *CancelMark  `json:"cancel,omitempty"`
	Ending     *Ending      `json:"ending,omitempty"`
}

// Submission is what was fixed when the task was accepted.
type Submission struct {
	ContextID    string    `json:"contextId"`
	Agent        string    `json:"agent"`
	AgentVersion int       `json:"agentVersion"`
	Step         string    `json:"step"`
	Principal    string    `json:"principal,omitempty"` // a hash, never the name
	Policy       string    `json:"policy"`              // version of the policy it is judged by
	LifeEndsAt   time.Time `json:"lifeEndsAt"`
	// RetainSeconds is how long the finished task can be read, unless the terms say
	// otherwise of how it ended.
	RetainSeconds int64  `json:"retainSeconds"`
	RequestDigest Digest `json:"requestDigest"`
	// Terms are what else the policy's document said; nil before there were documents.
	Terms *Terms `json:"terms,omitempty"`
}

// Checkpoint is everything that the next step needs.
type Checkpoint struct {
	Step  string
	Visit uint64 // raised whenever a step moves on
	State json.RawMessage
}

// storedCheckpoint is a checkpoint in a payload. The state is kept as text: a
// payload's numbers are doubles (RFC 8785), and an agent's state may hold
// integers beyond 2^53.
type storedCheckpoint struct {
	Step  string `json:"step"`
	Visit uint64 `json:"visit"`
	State string `json:"state,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedCheckpoint{c.Step, c.Visit, string(c.State)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Checkpoint) UnmarshalJSON(b []byte) error {
	var s storedCheckpoint
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*c = Checkpoint{Step: s.Step, Visit: s.Visit}
	if s.State != "" {
		c.State = json.RawMessage(s.State)
	}
	return nil
}

// Pause is a wait for somebody.
type Pause struct {
	Number     int           `json:"number"` // counts the task's pauses from 1
	DeadlineAt time.Time     `json:"deadlineAt"`
	Outcome    a2a.TaskState `json:"outcome"` // failed or canceled, at the deadline
	// Named demands that a reply names this pause.
	Named     bool       `json:"named,omitempty"`
	Challenge *Challenge `json:"challenge,omitempty"`
}

// Challenge is what an authorization receipt must answer.
type Challenge struct {
	Number    int       `json:"number"`
	Action    string    `json:"action"`
	Audience  string    `json:"audience,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Wait is a wait for time alone.
type Wait struct {
	Until time.Time `json:"until"`
	// Attempt is the attempt that failed, 0 for a sleep.
	Attempt int    `json:"attempt,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// ReceiptRef is what is kept of an authorization receipt: never the receipt (I9).
type ReceiptRef struct {
	Challenge int    `json:"challenge"`
	Issuer    string `json:"issuer"`
	KeyID     string `json:"keyId"`
	JTI       string `json:"jti"`
	Digest    Digest `json:"digest"`
}

// CancelMark is a request to cancel.
type CancelMark struct {
	Principal string    `json:"principal,omitempty"`
	At        time.Time `json:"at"`
}

// Ending closes a task.
type Ending struct {
	Reason         string         `json:"reason,omitempty"`
	Manifest       []ArtifactItem `json:"manifest,omitempty"`
	ManifestDigest Digest         `json:"manifestDigest"`
}

// Event decodes the entry's payload.
func (e Entry) Event() (Event, error) {
	var ev Event
	if e.TypeVersion < 1 || e.TypeVersion > entryTypeVersion {
		return ev, fmt.Errorf("entry %d has type version %d, this build reads up to %d: upgrade before reading it", e.Seq, e.TypeVersion, entryTypeVersion)
	}
	if err := json.Unmarshal(e.Payload, &ev); err != nil {
		return ev, fmt.Errorf("payload of entry %d: %w", e.Seq, err)
	}
	ev.Type = e.Type
	return ev, nil
}

// ChainAfter is the chain digest that the entry must carry behind one that carries
// previous; empty for a task's first entry.
func (e Entry) ChainAfter(previous Digest) Digest {
	return newChain("holdfast-entry-1").
		str(string(previous)).
		str(string(e.Task)).num(e.Seq).
		str(string(e.Type)).num(uint64(e.TypeVersion)).
		str(string(e.PayloadDigest)).
		str(e.Producer).str(e.EventID).num(e.SourceSeq).
		num(uint64(e.ObservedAt.UnixMilli())).num(uint64(e.AcceptedAt.UnixMilli())).
		str(e.Holder).num(e.Fence).
		str(e.OpID).
		sum()
}

// Millis drops what the ledger does not keep of an instant: it is in UTC and has
// milliseconds (A2A §5.6.1).
func Millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// fits bounds an entry: its message, and all of it.
func fits(ev Event, payload []byte) *Rejection {
	if len(payload) <= MaxMessageBytes {
		return nil
	}
	if ev.Message != nil {
		m, err := Canonical(ev.Message)
		if err != nil || len(m) > MaxMessageBytes {
			return reject(LimitReached, "a message of %d bytes, the limit is %d: move its large parts to the blob store", len(m), MaxMessageBytes)
		}
	}
	if len(payload) > MaxPayloadBytes {
		return reject(LimitReached, "an entry of %d bytes, the limit is %d", len(payload), MaxPayloadBytes)
	}
	return nil
}

// Seal turns a decision's events into numbered, chained entries and the task
// after them. Only package ledger calls it: nobody else assigns a sequence.
func Seal(t Task, d Decision, src Source, op string, now time.Time) (Task, []Entry, error) {
	next := Task{Head: d.After, Arts: t.Arts}
	next.Op = op
	if len(d.Events) == 0 {
		return next, nil, nil
	}
	entries := make([]Entry, 0, len(d.Events))
	for i, ev := range d.Events {
		payload, err := Canonical(ev)
		if err != nil {
			return t, nil, reject(InvalidContent, "%s", clip(err.Error()))
		}
		if r := fits(ev, payload); r != nil {
			return t, nil, r
		}
		e := Entry{
			Task: next.Task, Seq: next.Seq + 1, Type: ev.Type, TypeVersion: entryTypeVersion,
			Payload: payload, PayloadDigest: DigestBytes(payload),
			Producer: src.Producer, EventID: src.EventID, SourceSeq: src.Seq,
			ObservedAt: Millis(src.ObservedAt), AcceptedAt: Millis(now),
			Holder: src.Holder, Fence: src.Fence, OpID: op,
		}
		if e.EventID == "" || i > 0 {
			e.EventID = op + "." + strconv.Itoa(i+1)
		}
		if src.ObservedAt.IsZero() {
			e.ObservedAt = e.AcceptedAt
		}
		e.Chain = e.ChainAfter(next.Chain)
		if next, err = applyEvent(next, e, ev); err != nil {
			return t, nil, err
		}
		entries = append(entries, e)
	}
	return next, entries, nil
}
