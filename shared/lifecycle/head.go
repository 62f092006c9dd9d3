package lifecycle

import (
	"maps"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Head is a task's latest sequence and folded state, and beside it what is not
// folded from entries: lease, generation, cancel mark, when somebody must look.
// Its keys are short because every commit writes it whole.
type Head struct {
	Tenant string     `json:"tn"`
	Task   a2a.TaskID `json:"id"`

	// Folded from the entries.

	ContextID    string        `json:"cx"`
	Agent        string        `json:"ag"`
	AgentVersion int           `json:"av"`
	Principal    string        `json:"pr,omitempty"`
	Policy       string        `json:"po,omitempty"`
	State        a2a.TaskState `json:"st"`
	StatusAt     time.Time     `json:"sa"` // when State was entered
	AcceptedAt   time.Time     `json:"aa"`
	LifeEndsAt   time.Time     `json:"le"`
	RetainSecs   int64         `json:"rs"`
	ExpiresAt    time.Time     `json:"ex,omitzero"` // terminal tasks: hidden and purged from here on; sooner when acknowledged
	Seq          uint64        `json:"sq"`
	Chain        Digest        `json:"ch"`
	Step         string        `json:"sp"` // next to run
	Visit        uint64        `json:"vi"` // raised whenever a step moves on
	// CheckpointSeq is the entry with the latest checkpoint, 0 for none.
	CheckpointSeq uint64 `json:"cs,omitempty"`
	// MessageSeq is the entry with the message that the next step is to see.
	MessageSeq uint64 `json:"ms"`
	// Attempt counts the failed attempts of this visit.
	Attempt int `json:"at,omitempty"`
	// NextAt is when the task may run again, zero for at once.
	NextAt    time.Time  `json:"na,omitzero"`
	Pauses    int        `json:"ps,omitempty"`
	Pause     *Pause     `json:"pa,omitempty"` // the open one
	Challenge *Challenge `json:"cl,omitempty"` // open until a receipt closes it
	Artifacts int        `json:"ar,omitempty"` // how many
	Unsealed  int        `json:"un,omitempty"` // how many of them are open
	// EntryFence is the fence of the last entry that was written under a lease.
	EntryFence uint64 `json:"ef,omitempty"`
	// What the policy says (Spans); 0 where it says nothing.
	LeaseSecs    int64 `json:"ls,omitempty"`
	PauseSecs    int64 `json:"lp,omitempty"`
	FailedSecs   int64 `json:"rf,omitempty"`
	CanceledSecs int64 `json:"rc,omitempty"`
	RejectedSecs int64 `json:"rj,omitempty"`
	ExportedSecs int64 `json:"re,omitempty"`

	// Not folded.

	Holder     string    `json:"ho,omitempty"`
	Fence      uint64    `json:"fe,omitempty"` // of the last lease granted (I3)
	LeaseUntil time.Time `json:"lu,omitzero"`
	Grants     int       `json:"gr,omitempty"` // since the last entry
	Generation uint64    `json:"ge"`           // counts the task's executions
	Untaken    int       `json:"ut,omitempty"` // generations in a row that were granted no lease
	Turns      int       `json:"tu,omitempty"` // leases granted to this generation
	// Cancel is a request that the holder has not met yet.
	Cancel *CancelMark `json:"cm,omitempty"`
	// AckedAt is when the caller of an ended task has acknowledged its export.
	AckedAt time.Time `json:"ak,omitzero"`
	// DueAt is when somebody must look if nothing has happened by itself. Every
	// live task has one.
	DueAt time.Time `json:"du,omitzero"`
	// Key is the hash of the submission key that the task was created under. It stays
	// to the last, for the purge turns that key into a note.
	Key Digest `json:"ky,omitempty"`
	// Op is the operation that wrote this head.
	Op string `json:"op"`
}

// Ref is the head's task.
func (h Head) Ref() Ref { return Ref{Tenant: h.Tenant, Task: h.Task} }

// Terminal says whether the task has ended.
func (h Head) Terminal() bool { return h.State.Terminal() }

// Leased says whether somebody holds a valid lease at now.
func (h Head) Leased(now time.Time) bool { return h.Holder != "" && now.Before(h.LeaseUntil) }

// Expired says whether a finished task's retention is over: it must not be seen
// any more, whether it was purged already or not.
func (h Head) Expired(now time.Time) bool {
	return h.Terminal() && !h.ExpiresAt.IsZero() && !now.Before(h.ExpiresAt)
}

// Folded is the head without what entries do not determine. Folding the ledger
// gives exactly this (I1).
func (h Head) Folded() Head {
	h.Holder, h.Fence, h.LeaseUntil, h.Grants = "", 0, time.Time{}, 0
	h.Generation, h.Untaken, h.Turns, h.Cancel, h.DueAt, h.Key, h.Op = 0, 0, 0, nil, time.Time{}, "", ""
	h.unacknowledged()
	return h
}

// free gives the lease back.
func (h *Head) free() { h.Holder, h.LeaseUntil = "", time.Time{} }

// Task is what Decide looks at: the head and, for whoever reports artifacts, how
// far each artifact is.
type Task struct {
	Head
	Arts map[a2a.ArtifactID]Artifact
}

func (t Task) withArtifact(a Artifact) Task {
	arts := maps.Clone(t.Arts)
	if arts == nil {
		arts = map[a2a.ArtifactID]Artifact{}
	}
	arts[a.ID] = a
	t.Arts = arts
	return t
}
