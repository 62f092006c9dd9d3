package lifecycle

import (
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// shape is what an entry of one type looks like: where it may come from, where
// it may lead, and what it must carry.
type shape struct {
	// from are the states in which it may come; empty for the states from which the
	// transition table allows to go where it leads.
	from []a2a.TaskState
	// to are the states that it may lead to; empty when it changes none.
	to      []a2a.TaskState
	carries func(Event) bool
}

// shapes are the shapes of all entry types. An entry that is read back is held
// against them like one that is about to be written.
var shapes = map[EntryType]shape{
	TypeSubmitted: {to: []a2a.TaskState{Submitted}, carries: func(e Event) bool { return e.Submission != nil && e.Message != nil }},
	TypeStarted:   {from: []a2a.TaskState{Submitted}, to: []a2a.TaskState{Working}, carries: nothing},
	TypeProgress:  {from: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Message != nil }},
	TypeChunk:     {from: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Chunk != nil && e.Chunk.Part != nil }},
	TypeCheckpoint: {
		from: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Checkpoint != nil },
	},
	TypeWaiting: {from: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Wait != nil }},
	TypePaused: {
		to: []a2a.TaskState{InputRequired, AuthRequired},
		carries: func(e Event) bool {
			return e.Pause != nil && !e.Pause.DeadlineAt.IsZero() && (e.Pause.Outcome == Failed || e.Pause.Outcome == Canceled) &&
				(e.State == AuthRequired) == (e.Pause.Challenge != nil)
		},
	},
	TypeReply:           {from: []a2a.TaskState{InputRequired}, to: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Message != nil }},
	TypeMessage:         {from: []a2a.TaskState{AuthRequired}, carries: func(e Event) bool { return e.Message != nil }},
	TypeAuthorized:      {from: []a2a.TaskState{AuthRequired}, to: []a2a.TaskState{Working}, carries: func(e Event) bool { return e.Receipt != nil }},
	TypeCancelRequested: {from: []a2a.TaskState{Submitted, Working, InputRequired, AuthRequired}, carries: func(e Event) bool { return e.Cancel != nil }},
	TypeEnded:           {to: []a2a.TaskState{Completed, Failed, Canceled, Rejected}, carries: func(e Event) bool { return e.Ending != nil }},
}

func nothing(Event) bool { return true }

// checkShape holds an event against its type's shape and the transition table.
func checkShape(t Task, ev Event) error {
	s, known := shapes[ev.Type]
	if !known {
		return fmt.Errorf("this build does not know entries of type %q: upgrade before reading it", ev.Type)
	}
	if t.Seq == 0 || ev.Type == TypeSubmitted {
		if t.Seq != 0 || ev.Type != TypeSubmitted {
			return fmt.Errorf("a task begins with its submission, and is submitted once")
		}
		if ev.State != Submitted || !s.carries(ev) {
			return fmt.Errorf("a submission without its message or its terms")
		}
		return nil
	}
	if t.Terminal() {
		return reject(PostTerminal, "the task has ended as %s", t.State)
	}
	if len(s.from) > 0 && !slices.Contains(s.from, t.State) {
		return reject(IllegalTransition, "does not come in %s", t.State)
	}
	if len(s.to) == 0 && ev.State != "" || len(s.to) > 0 && !slices.Contains(s.to, ev.State) {
		return reject(IllegalTransition, "does not lead to %s", ev.State)
	}
	if len(s.to) > 0 {
		if r := mayMove(t.State, ev.State, ev.Type == TypeAuthorized); r != nil {
			return r
		}
	}
	if !s.carries(ev) {
		return fmt.Errorf("is incomplete")
	}
	return nil
}

// checkCounts holds an entry against what the task counts: visits, pauses,
// challenges, chunks, fences. What is counted has no gap and does not go back.
func checkCounts(t Task, e Entry, ev Event) error {
	switch c := ev.Checkpoint; {
	case e.Fence > 0 && e.Fence < t.EntryFence:
		return fmt.Errorf("written under fence %d after one under fence %d", e.Fence, t.EntryFence)
	case c != nil && c.Visit != t.Visit && c.Visit != t.Visit+1:
		return fmt.Errorf("a checkpoint of visit %d in visit %d", c.Visit, t.Visit)
	case ev.Pause != nil && ev.Pause.Number != t.Pauses+1:
		return fmt.Errorf("pause %d after pause %d", ev.Pause.Number, t.Pauses)
	case ev.Receipt != nil && (t.Challenge == nil || t.Challenge.Number != ev.Receipt.Challenge):
		return reject(ReceiptInvalid, "a receipt for challenge %d, which is not open", ev.Receipt.Challenge)
	case ev.State == Completed && t.Unsealed > 0:
		return reject(OpenArtifact, "completed with %d open artifacts", t.Unsealed)
	}
	if c := ev.Chunk; c != nil {
		a, known := t.Arts[c.Artifact]
		next := known && !a.Sealed && c.Revision == a.Revision && c.Number == a.Chunks+1
		first := c.Revision == a.Revision+1 && c.Number == 1
		if !next && !first {
			return fmt.Errorf("chunk %d of revision %d of artifact %q does not follow chunk %d of revision %d", c.Number, c.Revision, c.Artifact, a.Chunks, a.Revision)
		}
	}
	return nil
}
