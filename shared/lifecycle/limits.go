package lifecycle

import "time"

// Limits, each with its reason. Nothing in this product is unbounded; whoever
// meets a limit gets an error that names it.
const (
	// MaxEntries is how many entries a task may have. A task that needs more is a
	// loop, or should be several tasks; and GetTask folds them all.
	MaxEntries = 10_000
	// reservedEntries are kept free below MaxEntries, so that a task that ran into
	// the limit can still record a cancellation and its end.
	reservedEntries = 8
	// MaxChunksPerCommit bounds the artifact chunks of one commit: each is an entry
	// and a receipt, and DynamoDB takes 100 items in a transaction
	// (TransactWriteItems, API reference).
	MaxChunksPerCommit = 40
	// MaxEntriesPerCommit bounds the entries of one commit, for the same reason:
	// 40 chunks (80 items), a few messages, the head, artifacts and receipts.
	MaxEntriesPerCommit = 48
	// MaxArtifactsPerCommit bounds the artifacts that one commit may touch.
	MaxArtifactsPerCommit = 8
	// MaxArtifacts bounds the artifacts of a task.
	MaxArtifacts = 300
	// MaxCheckpointBytes bounds an agent's state. It rides on an entry, and a
	// DynamoDB item ends at 400 KB; small checkpoints keep commits cheap.
	MaxCheckpointBytes = 32 << 10
	// MaxInlineBytes is the largest part that rides on an entry; larger ones go to
	// the blob store first and the entry names them.
	MaxInlineBytes = 32 << 10
	// MaxMessageBytes is the largest message on an entry once its large parts were
	// moved to the blob store: an entry must stay below 400 KB on DynamoDB.
	MaxMessageBytes = 256 << 10
	// MaxPayloadBytes bounds an entry's payload, whatever it is made of: 400 KB less
	// the envelope.
	MaxPayloadBytes = 384 << 10
	// MaxGrants is how many leases a task may be granted without a new entry. A
	// step that kills its process would otherwise loop for ever.
	MaxGrants = 10
	// MaxUntakenWait is the longest time between two generations that nobody takes.
	// They say nothing about the task (its agent version may wait for a deploy, the
	// executions may be out of order), so they do not end it; each waits twice as
	// long as the one before, and the task's longest life bounds them.
	MaxUntakenWait = time.Hour
	// MaxTurns is how many leases one generation is granted before the next one takes
	// over: an execution fails at 25,000 history events (Step Functions, Service
	// quotas), and one turn with a pause costs about 13.
	MaxTurns = 1_500
	// MaxReasonBytes bounds the text that explains a failure or a rejection.
	MaxReasonBytes = 512
	// MaxNameBytes bounds names of agents, steps, effects, producers, artifacts.
	MaxNameBytes = 64
	// MaxIDBytes bounds contextId, messageId and tenant.
	MaxIDBytes = 128
	// MaxKeyBytes bounds a submission key.
	MaxKeyBytes = 256
	// MaxEffectResultBytes bounds the recorded result of an effect.
	MaxEffectResultBytes = 32 << 10
	// MaxQuarantined bounds the output that is kept of producers who went on after a task was
	// canceled: enough to see what it was.
	MaxQuarantined = 100
	// MaxQuarantinedBytes bounds one piece of it; of a larger one the digest is kept.
	MaxQuarantinedBytes = 32 << 10
	// MaxEffectTerms bounds the effects that a policy names: its terms are in the first
	// entry of every task.
	MaxEffectTerms = 32
	// MaxActs bounds the records of operators' actions on one task, of which there are a
	// handful.
	MaxActs = 200
	// MaxOperatorBytes bounds an operator's name: a principal's 128 bytes, and how it was
	// proven.
	MaxOperatorBytes = 160
	// MaxDetailBytes bounds what an operator says about an action: an effect's name, and
	// a reason of a few sentences.
	MaxDetailBytes = 1 << 10
	// MaxRejections bounds the rejections that are kept for one task; later ones
	// are only counted.
	MaxRejections = 100
)

// Durations of the default policy.
const (
	// DefaultLease is how long a lease lasts without renewal.
	DefaultLease = 30 * time.Second
	// DefaultRenewal is how often a holder renews: three tries within one lease.
	DefaultRenewal = 10 * time.Second
	// DefaultGrace is how long the sweep leaves a task alone after something should
	// have happened by itself.
	DefaultGrace = 30 * time.Second
	// ClockMargin is by how much the clocks of those who work on one task may differ: a
	// caller's last moment has passed for everybody so long after it.
	ClockMargin = 5 * time.Second
	// DefaultPause is the deadline of a pause whose agent named none.
	DefaultPause = 7 * 24 * time.Hour
	// MaxPause is the longest pause.
	MaxPause = 30 * 24 * time.Hour
	// MaxLife is the longest that a policy may let a task live.
	MaxLife = 365 * 24 * time.Hour
	// MaxLease is the longest lease of a policy: so long a task whose holder has died
	// waits for the next one.
	MaxLease = 15 * time.Minute
	// MinRetention is the shortest retention of a policy. It outlives the deliveries to
	// webhooks, whose last attempt is less than three days after the first.
	MinRetention = 3 * 24 * time.Hour
	// MinExported is the shortest retention after an acknowledged export: whoever did not
	// get the answer to its acknowledgement asks again.
	MinExported = time.Hour
	// MaxRetention is the longest retention of a policy.
	MaxRetention = 3650 * 24 * time.Hour
	// DefaultLife is the longest life of a task.
	DefaultLife = 90 * 24 * time.Hour
	// DefaultRetention is how long a finished task can be read.
	DefaultRetention = 30 * 24 * time.Hour
	// DefaultKeyNote is how long a submission key is remembered after its task has
	// expired.
	DefaultKeyNote = 30 * 24 * time.Hour
	// HoldLook is how often a task with an effect held for an operator looks again.
	HoldLook = time.Hour
)
