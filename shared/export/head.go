package export

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Head is a task's head, and what is counted beside it.
type Head struct {
	HeadFields

	// Counts are for operators.
	Counts *ledger.Counts `json:"counts,omitempty"`
	// Moved is how far the task was when the export ended. It is there when the task did
	// not rest while it was exported.
	Moved *Moved `json:"moved,omitempty"`
}

// Moved is how far a task was.
type Moved struct {
	Seq   uint64 `json:"seq"`
	Fence uint64 `json:"fence"`
}

// HeadFields is lifecycle.Head under readable names: the same fields in the same
// order, so that the compiler keeps the two alike.
type HeadFields struct {
	Tenant        string               `json:"tenant"`
	Task          a2a.TaskID           `json:"task"`
	ContextID     string               `json:"contextId"`
	Agent         string               `json:"agent"`
	AgentVersion  int                  `json:"agentVersion"`
	Principal     string               `json:"principal,omitempty"`
	Policy        string               `json:"policy,omitempty"`
	State         a2a.TaskState        `json:"state"`
	StatusAt      time.Time            `json:"statusAt"`
	AcceptedAt    time.Time            `json:"acceptedAt"`
	LifeEndsAt    time.Time            `json:"lifeEndsAt"`
	RetainSecs    int64                `json:"retainSeconds"`
	ExpiresAt     time.Time            `json:"expiresAt,omitzero"`
	Seq           uint64               `json:"seq"`
	Chain         lifecycle.Digest     `json:"chain"`
	Step          string               `json:"step"`
	Visit         uint64               `json:"visit"`
	CheckpointSeq uint64               `json:"checkpointSeq,omitempty"`
	MessageSeq    uint64               `json:"messageSeq"`
	Attempt       int                  `json:"attempt,omitempty"`
	NextAt        time.Time            `json:"nextAt,omitzero"`
	Pauses        int                  `json:"pauses,omitempty"`
	Pause         *lifecycle.Pause     `json:"pause,omitempty"`
	Challenge     *lifecycle.Challenge `json:"challenge,omitempty"`
	Artifacts     int                  `json:"artifacts,omitempty"`
	Unsealed      int                  `json:"unsealed,omitempty"`
	EntryFence    uint64               `json:"entryFence,omitempty"`
	LeaseSecs     int64                `json:"leaseSeconds,omitempty"`
	PauseSecs     int64                `json:"longestPauseSeconds,omitempty"`
	FailedSecs    int64                `json:"retainFailedSeconds,omitempty"`
	CanceledSecs  int64                `json:"retainCanceledSeconds,omitempty"`
	RejectedSecs  int64                `json:"retainRejectedSeconds,omitempty"`
	ExportedSecs  int64                `json:"retainExportedSeconds,omitempty"`

	Holder     string                `json:"holder,omitempty"`
	Fence      uint64                `json:"fence,omitempty"`
	LeaseUntil time.Time             `json:"leaseUntil,omitzero"`
	Grants     int                   `json:"grants,omitempty"`
	Generation uint64                `json:"generation"`
	Untaken    int                   `json:"untaken,omitempty"`
	Turns      int                   `json:"turns,omitempty"`
	Cancel     *lifecycle.CancelMark `json:"cancel,omitempty"`
	AckedAt    time.Time             `json:"acknowledgedAt,omitzero"`
	DueAt      time.Time             `json:"dueAt,omitzero"`
	Key        lifecycle.Digest      `json:"submissionKeyHash,omitempty"`
	Op         string                `json:"op"`
}
