package agent

import "time"

// Limits that a step can meet. Whoever meets one fails the task with an error that
// names it. The rules of a task (package lifecycle) hold the same numbers and the
// reason for each.
const (
	// MaxStateBytes bounds the JSON of an agent's state: it is written with every
	// commit.
	MaxStateBytes = 32 << 10
	// MaxUpdates bounds the progress messages and chunks of one commit.
	MaxUpdates = 46
	// MaxChunks bounds the chunks of one commit.
	MaxChunks = 40
	// MaxArtifactsPerCommit bounds the artifacts that one commit may touch.
	MaxArtifactsPerCommit = 8
	// MaxArtifacts bounds the artifacts of a task.
	MaxArtifacts = 300
	// MaxArtifactIDBytes bounds an artifact's ID.
	MaxArtifactIDBytes = 64
	// MaxEffectResultBytes bounds the JSON of an effect's result.
	MaxEffectResultBytes = 32 << 10
	// MaxEntries bounds what may happen to one task: each progress message, chunk,
	// checkpoint, pause and wait is an entry.
	MaxEntries = 10_000
	// MaxGrants is how many times a task is taken up again without a new entry; a
	// step that kills its process cannot loop.
	MaxGrants = 10
	// MaxPause is the longest pause.
	MaxPause = 30 * 24 * time.Hour
	// DefaultPause is the deadline of a pause that names none.
	DefaultPause = 7 * 24 * time.Hour
)
