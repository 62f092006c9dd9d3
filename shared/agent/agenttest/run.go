package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// TB is what a Run needs of a test. *testing.T and *testing.B have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(fn func())
	Context() context.Context
}

// The identifiers of every run.
const (
	TaskID    a2a.TaskID = "task"
	ContextID string     = "context"
)

// epoch is when every run begins. It lies ahead, so that the deadline of a call,
// which is an instant of the run's clock, never passes by itself.
var epoch = time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)

// Run is one task of an agent under test. It runs when something is wanted of it
// or done to it, as far as it gets.
type Run struct {
	t     TB
	agent *agent.Agent

	clock     time.Time
	state     a2a.TaskState // empty when the first message was refused
	step      string
	visit     int
	failed    int             // attempts of this visit
	saved     json.RawMessage // the agent's state as of the last commit
	message   *a2a.Message    // the caller's latest
	artifacts artifacts
	effects   map[string]*effect

	pause  *pause
	pauses int
	sleep  *sleep
	held   string // the effect that waits for an operator
	cancel bool   // a cancellation is to be met by the running step
	leased bool
	grants int

	closing string // text of the last status message
	reason  string // for operators
	refused error  // by Validate
	reports []*a2a.Message

	entries  int
	messages int
	calls    map[string]int
	faults   []*fault
	point    *CrashPoint
	log      []line
}

// pause is an open pause.
type pause struct {
	number   int
	question *a2a.Message
	terms    agent.PauseTerms
	deadline time.Time
}

// sleep is a wait for time.
type sleep struct {
	length time.Duration
	until  time.Time
}

// Start submits a text as the first message of a task.
func Start(t TB, a *agent.Agent, text string) *Run {
	t.Helper()
	return StartWith(t, a, a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text)))
}

// StartWith submits a first message. The agent's own check comes first, as at the
// door: what it refuses is no task (see WantRefused).
func StartWith(t TB, a *agent.Agent, m *a2a.Message) *Run {
	t.Helper()
	r := &Run{
		t: t, agent: a, clock: epoch, step: a.First(), visit: 1,
		artifacts: artifacts{}, effects: map[string]*effect{}, calls: map[string]int{},
	}
	t.Cleanup(r.checkFaults)
	r.message = r.received(m)
	if r.refused = a.Check(r.message); r.refused != nil {
		r.logf("submission", "refused: %v", r.refused)
		return r
	}
	r.state = a2a.TaskStateSubmitted
	r.entries = 1
	r.logf("submission", "%s", quoted(r.message))
	return r
}

// received is a caller's message as it is stored: a copy with its identifiers. It
// keeps an ID that it has.
func (r *Run) received(m *a2a.Message) *a2a.Message {
	r.t.Helper()
	id := m.ID
	out, err := r.stored(m)
	if err != nil {
		r.t.Fatalf("agenttest: the message cannot be sent: %v", err)
	}
	out.Role = a2a.MessageRoleUser
	if id != "" {
		out.ID = id
	}
	return out
}

// stored is a message after it was written and read back, under the task's
// identifiers, whatever it said.
func (r *Run) stored(m *a2a.Message) (*a2a.Message, error) {
	out, err := copied(m)
	if err != nil || out == nil {
		return out, err
	}
	r.messages++
	out.ID = string(TaskID) + "-" + strconv.Itoa(r.messages)
	out.TaskID, out.ContextID = TaskID, ContextID
	return out, nil
}

func copied(m *a2a.Message) (*a2a.Message, error) {
	if m == nil {
		return nil, nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	out := &a2a.Message{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, err
	}
	return out, nil
}

// handed is a stored message as a step gets it: the step may change its copy.
func handed(m *a2a.Message) (*a2a.Message, error) {
	out := *m
	out.Parts = make(a2a.ContentParts, len(m.Parts))
	for i, p := range m.Parts {
		part := *p
		switch c := p.Content.(type) {
		case a2a.Raw:
			part.Content = append(a2a.Raw{}, c...)
		case a2a.Data:
			whole, err := copied(&a2a.Message{Parts: a2a.ContentParts{p}})
			if err != nil {
				return nil, err
			}
			part = *whole.Parts[0]
		}
		out.Parts[i] = &part
	}
	return &out, nil
}

// quoted shows a message on one line of the transcript.
func quoted(m *a2a.Message) string {
	if m == nil {
		return `""`
	}
	var out strings.Builder
	out.WriteString(clipped(agent.Text(m)))
	for _, p := range m.Parts {
		if _, isText := p.Content.(a2a.Text); !isText {
			fmt.Fprintf(&out, " and a part %s", strings.TrimSpace(strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", p.Content), "a2a."))+" "+p.MediaType))
		}
	}
	return out.String()
}

// clipped quotes a text, up to a length that fits on a screen.
func clipped(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

// end closes the task.
func (r *Run) end(state a2a.TaskState, text, reason string) {
	r.state, r.closing, r.reason = state, text, reason
	r.pause, r.sleep, r.held, r.leased, r.cancel = nil, nil, "", false, false
	r.entry(1)
	r.logf(r.step, "%s", r.situation())
}

// entry counts what was written.
func (r *Run) entry(n int) { r.entries += n; r.grants = 0 }
