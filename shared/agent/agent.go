package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// DefaultStepTimeout is how long a step may run before its context ends.
const DefaultStepTimeout = time.Minute

// nameForm is the form of agent, step and effect names: 1 to 64 bytes.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Agent is a table of steps under a name and a version. A task that began on a
// version ends on it: keep a version in the catalog for as long as tasks run on
// it, and raise the version whenever the table or the state changes its meaning.
type Agent struct {
	name     string
	version  int
	steps    map[string]step
	first    string
	order    []string
	card     Card
	validate func(*a2a.Message) error
	keyed    bool
	outside  bool
	policy   string
}

// Step is one named step over the state S.
type Step[S any] struct {
	// Name is unique within the agent: 1 to 64 of a-z, 0-9, '.', '_', '-'.
	Name string
	// Run does the work. It must return when its context ends.
	Run func(context.Context, *Task[S]) (Next, error)
	// Timeout bounds one attempt; 0 means DefaultStepTimeout.
	Timeout time.Duration
	// Retry says how a failed attempt is tried again; fields that are zero are
	// those of DefaultRetry.
	Retry Retry
}

// Retry is a capped, growing delay between attempts. The actual delay is drawn
// between 0 and the delay given here (full jitter).
type Retry struct {
	First    time.Duration // before the second attempt
	Factor   float64
	Max      time.Duration // at most so long
	Attempts int           // in all; then the task fails
}

// DefaultRetry tries ten times: after 1 s, 2 s, 4 s … at most 5 minutes apart.
func DefaultRetry() Retry {
	return Retry{First: time.Second, Factor: 2, Max: 5 * time.Minute, Attempts: 10}
}

// Delay is the delay after a failed attempt (counted from 1), before jitter.
func (r Retry) Delay(attempt int) time.Duration {
	d := float64(r.First)
	for range attempt - 1 {
		if d *= r.Factor; d >= float64(r.Max) {
			return r.Max
		}
	}
	return min(time.Duration(d), r.Max)
}

// Card is what the agent card says about the agent (A2A §4.4.1).
type Card struct {
	Description string
	Skills      []a2a.AgentSkill
	InputModes  []string // media types; empty: text/plain
	OutputModes []string // media types; empty: text/plain
	// ExtendedSkills are shown to authenticated callers only, on the extended card
	// (A2A §3.1.11). Without any there is no such card.
	ExtendedSkills []a2a.AgentSkill
	// Extensions are the agent's own (A2A §4.6). A request that does not name one which
	// is required is refused before the agent sees it.
	Extensions []a2a.AgentExtension
}

type step struct {
	timeout time.Duration
	retry   Retry
	run     func(context.Context, Input, Session) (Move, error)
}

// New makes an agent whose first step is the first in the table. It panics when
// the table could never run: a bad or doubled name, a step without a function, a
// time or a number of attempts below zero.
func New[S any](name string, version int, steps ...Step[S]) *Agent {
	a := &Agent{name: name, version: version, steps: make(map[string]step, len(steps))}
	if !nameForm.MatchString(name) || version < 1 || len(steps) == 0 {
		panic(fmt.Sprintf("agent %q version %d with %d steps: a name of %s, a version from 1 and at least one step are needed", name, version, len(steps), nameForm))
	}
	if err := kept[S](); err != nil {
		panic(fmt.Sprintf("agent %q version %d: its state: %v", name, version, err))
	}
	for _, s := range steps {
		if !nameForm.MatchString(s.Name) {
			panic(fmt.Sprintf("agent %q version %d: %q is no name for a step, which is of the form %s", name, version, s.Name, nameForm))
		}
		if _, doubled := a.steps[s.Name]; doubled {
			panic(fmt.Sprintf("agent %q version %d: two steps are named %s", name, version, s.Name))
		}
		if s.Run == nil {
			panic(fmt.Sprintf("agent %q version %d: step %s has no function: Run is nil", name, version, s.Name))
		}
		if r := s.Retry; s.Timeout < 0 || r.First < 0 || r.Factor < 0 || r.Max < 0 || r.Attempts < 0 {
			panic(fmt.Sprintf("agent %q version %d: step %q has a timeout or a retry below zero", name, version, s.Name))
		}
		a.steps[s.Name] = erase(s)
		a.order = append(a.order, s.Name)
	}
	a.first = steps[0].Name
	return a
}

func erase[S any](s Step[S]) step {
	out := step{timeout: cmp.Or(s.Timeout, DefaultStepTimeout)}
	d := DefaultRetry()
	out.retry.First, out.retry.Factor = cmp.Or(s.Retry.First, d.First), cmp.Or(s.Retry.Factor, d.Factor)
	out.retry.Max, out.retry.Attempts = cmp.Or(s.Retry.Max, d.Max), cmp.Or(s.Retry.Attempts, d.Attempts)
	out.run = func(ctx context.Context, in Input, session Session) (Move, error) {
		t := &Task[S]{ID: in.Task, ContextID: in.ContextID, Message: in.Message, Attempt: in.Attempt, in: in, session: session}
		if len(in.State) > 0 {
			if err := json.Unmarshal(in.State, &t.State); err != nil {
				return Move{}, Permanent(fmt.Errorf("the checkpoint does not fit the state %T: %w", t.State, err))
			}
		}
		next, err := s.Run(ctx, t)
		if err != nil && t.broken == nil {
			return Move{}, err
		}
		return t.move(next)
	}
	return out
}

// Describe is the agent with a card.
func (a *Agent) Describe(c Card) *Agent {
	b := *a
	b.card = c
	return &b
}

// Validate is the agent with a check of first messages. It runs at the door,
// before anything is written: its error is answered as invalid parameters. It
// must be quick and do no I/O.
func (a *Agent) Validate(check func(*a2a.Message) error) *Agent {
	b := *a
	b.validate = check
	return &b
}

// KeyedByMessageID is the agent with messageId as the submission key of
// submissions that bring no other: the same messageId is the same task.
func (a *Agent) KeyedByMessageID() *Agent {
	b := *a
	b.keyed = true
	return &b
}

// Under is the agent whose tasks are accepted under a policy: name@version of a
// document that the deployment has (shared/policy). Without it they are under the
// default one. A task stays under the policy that it was accepted under.
func (a *Agent) Under(policy string) *Agent {
	b := *a
	b.policy = policy
	return &b
}

// Name is the agent's name.
func (a *Agent) Name() string { return a.name }

// Version is the agent's version.
func (a *Agent) Version() int { return a.version }

// First is the name of the first step.
func (a *Agent) First() string { return a.first }

// Steps are the names of the steps, in the order of the table.
func (a *Agent) Steps() []string { return append([]string(nil), a.order...) }

// Card is what Describe set.
func (a *Agent) Card() Card { return a.card }

// Check runs the validation of a first message. A message without parts, or with
// an empty one, is refused for every agent.
func (a *Agent) Check(m *a2a.Message) error {
	if err := checkMessage(m); err != nil || a.validate == nil {
		return err
	}
	return a.validate(m)
}

// Policy is what Under set; empty for the default policy.
func (a *Agent) Policy() string { return a.policy }

// Keyed says whether messageId is the submission key.
func (a *Agent) Keyed() bool { return a.keyed }
