package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// This file is for those who run agents: package runner and package agenttest.
// Authors of agents need nothing of it.

// Input is what a step is run with.
type Input struct {
	Task      a2a.TaskID
	ContextID string
	Step      string
	Attempt   int // from 1
	State     json.RawMessage
	Message   *a2a.Message
}

// Update is one piece of progress: a message or a chunk.
type Update struct {
	Message *a2a.Message
	Chunk   *Chunk
}

// SubStep is what a step commits before it has ended.
type SubStep struct {
	State   json.RawMessage
	Updates []Update
}

// Move is how a step ended, without its types.
type Move struct {
	Verb    Verb
	Step    string
	State   json.RawMessage
	Updates []Update
	Message *a2a.Message
	Pause   *PauseTerms
	Delay   time.Duration
}

// Session is what a running step reaches through its Task. Its methods may be
// called from several goroutines of one step.
type Session interface {
	Commit(ctx context.Context, s SubStep) error
	Progress(id a2a.ArtifactID) Progress
	// BeginEffect says what to do about an effect; when it says EffectCall, the
	// intent is recorded.
	BeginEffect(ctx context.Context, s EffectStart) (Ticket, error)
	// EndEffect records what became of a call, even when ctx has ended.
	EndEffect(ctx context.Context, e EffectEnd) error
}

// EffectStart asks to begin an effect.
type EffectStart struct {
	Name    string
	Policy  Policy
	Request json.RawMessage
	Timeout time.Duration
}

// EffectAct is what BeginEffect tells a step to do.
type EffectAct string

// What BeginEffect tells a step to do.
const (
	EffectCall     EffectAct = "call"
	EffectRecorded EffectAct = "recorded"
	EffectAsk      EffectAct = "ask"
)

// Ticket is the permission to call, or the recorded result.
type Ticket struct {
	Name      string
	Act       EffectAct
	Key       string
	CallUntil time.Time
	Result    json.RawMessage
	// Visit and Revision belong to whoever issued the ticket.
	Visit, Revision uint64
}

// EndKind is how a call ended.
type EndKind string

// How a call ended.
const (
	EndDone    EndKind = "done"
	EndNotDone EndKind = "not-done"
	EndInDoubt EndKind = "in-doubt"
)

// EffectEnd is what became of a call.
type EffectEnd struct {
	Ticket   Ticket
	Kind     EndKind
	Result   json.RawMessage
	Evidence string
}

// Run runs one attempt of a step. A panic of the step is an error.
func (a *Agent) Run(ctx context.Context, in Input, s Session) (m Move, err error) {
	st, ok := a.steps[in.Step]
	if !ok {
		return Move{}, Permanent(fmt.Errorf("agent %s version %d has no step %q", a.name, a.version, in.Step))
	}
	defer func() {
		if p := recover(); p != nil {
			m, err = Move{}, fmt.Errorf("step %q panicked: %v", in.Step, p)
		}
	}()
	m, err = st.run(ctx, in, s)
	if err != nil {
		return m, err
	}
	if _, known := a.steps[m.Step]; m.Verb.goesOn() && !known {
		return Move{}, Permanent(fmt.Errorf("step %q of agent %s version %d names %q as the next step, which does not exist", in.Step, a.name, a.version, m.Step))
	}
	return m, nil
}

// Timeout is the longest time that one attempt of a step may take.
func (a *Agent) Timeout(step string) time.Duration {
	if st, ok := a.steps[step]; ok {
		return st.timeout
	}
	return DefaultStepTimeout
}

// RetryOf is how a step's failed attempts are tried again.
func (a *Agent) RetryOf(step string) Retry {
	if st, ok := a.steps[step]; ok {
		return st.retry
	}
	return DefaultRetry()
}
