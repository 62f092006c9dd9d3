package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Task is what a step works on.
type Task[S any] struct {
	ID        a2a.TaskID
	ContextID string
	// State is the agent's state as of the last commit. What a step changes is kept
	// when it moves on, or at Commit; its JSON has at most 32 KiB.
	State S
	// Message is the caller's latest message: the first one, or the reply to the
	// last pause.
	Message *a2a.Message
	// Attempt counts the attempts of this step from 1.
	Attempt int

	in      Input
	session Session
	updates []Update
	once    names
	broken  error // what Commit answered: nothing after it counts
}

// Report adds a progress message. Callers see it with the next commit.
func (t *Task[S]) Report(text string) { t.ReportWith(Say(text)) }

// ReportWith is Report with a whole message.
func (t *Task[S]) ReportWith(m *a2a.Message) {
	t.updates = append(t.updates, Update{Message: outgoing(m)})
}

// Chunk is one piece of an artifact.
type Chunk struct {
	Artifact    a2a.ArtifactID
	Name        string
	Description string
	// Append extends the open revision. Without it the chunk opens a new revision,
	// which replaces the one before: text that is generated anew never mixes with
	// what an earlier attempt left.
	Append bool
	// Last seals the revision. A task cannot complete while an artifact is open.
	Last bool
	Part *a2a.Part
}

// Emit adds a chunk of an artifact. It is committed together with the state, at
// the next commit: a rerun finds in Progress how far it had got. At most 40 chunks
// go into one commit; call Commit in between.
func (t *Task[S]) Emit(c Chunk) { t.updates = append(t.updates, Update{Chunk: &c}) }

// Progress is how far an artifact is, as of the last commit.
type Progress struct {
	Revision int // 0: the artifact does not exist
	Chunks   int
	Sealed   bool
}

// Progress says how far an artifact is, as of the last commit.
func (t *Task[S]) Progress(id a2a.ArtifactID) Progress { return t.session.Progress(id) }

// Commit is a sub-step: it keeps the state and everything reported and emitted so
// far, and the step goes on. After a crash the step runs again from here. An
// error means that the step must return it: nothing after it counts, and whatever
// the step returns instead, the attempt ends with that error.
func (t *Task[S]) Commit(ctx context.Context) error {
	if t.broken == nil {
		t.broken = t.commit(ctx)
	}
	return t.broken
}

func (t *Task[S]) commit(ctx context.Context) error {
	state, err := t.encode()
	if err != nil {
		return err
	}
	if err := checkUpdates(t.updates); err != nil {
		return err
	}
	if err := t.session.Commit(ctx, SubStep{State: state, Updates: t.updates}); err != nil {
		return err
	}
	t.updates = nil
	return nil
}

func (t *Task[S]) encode() (json.RawMessage, error) {
	state, err := json.Marshal(t.State)
	if err != nil {
		return nil, Permanent(fmt.Errorf("the state %T cannot be stored: %w", t.State, err))
	}
	if len(state) > MaxStateBytes {
		return nil, Permanent(fmt.Errorf("the state %T has %d bytes, the limit is %d: keep large things in artifacts", t.State, len(state), MaxStateBytes))
	}
	return state, nil
}

func (t *Task[S]) move(n Next) (Move, error) {
	if t.broken != nil {
		return Move{}, t.broken
	}
	if n.verb == "" {
		return Move{}, Permanent(fmt.Errorf("step %q returned neither an error nor what comes next", t.in.Step))
	}
	state, err := t.encode()
	if err != nil {
		return Move{}, err
	}
	if err := checkUpdates(t.updates); err != nil {
		return Move{}, err
	}
	m := Move{Verb: n.verb, Step: n.step, State: state, Updates: t.updates, Pause: n.pause, Delay: n.delay}
	if n.message != nil {
		m.Message = outgoing(n.message)
		if err := checkMessage(m.Message); err != nil {
			return Move{}, err
		}
	}
	return m, nil
}
