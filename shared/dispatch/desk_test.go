package dispatch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What is real in these tests: the dispatcher, the rules and the optimistic loop.
// The ledger is the in-memory model, time is a clock that the test moves, and the
// executions are a list of what they were told.

const (
	lease = 30 * time.Second
	grace = 30 * time.Second
	// execution holds the lease where a test does not say who else.
	execution = "e1"
)

// start is one call of Start.
type start struct {
	name string
	in   dispatch.Input
}

// executions is the port to the state machine: names are used once, tokens are
// open, closed or unknown.
type executions struct {
	mu      sync.Mutex
	starts  []start         // those that began something
	tokens  map[string]bool // true: open
	resumed []string        // tokens that were closed by Resume
	broken  error           // what every call answers
}

// Start implements dispatch.Executions.
func (e *executions) Start(_ context.Context, name string, in dispatch.Input) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil {
		return e.broken
	}
	for _, s := range e.starts {
		if s.name == name {
			return nil
		}
	}
	e.starts = append(e.starts, start{name, in})
	return nil
}

// Resume implements dispatch.Executions.
func (e *executions) Resume(_ context.Context, token string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	open, known := e.tokens[token]
	switch {
	case e.broken != nil:
		return e.broken
	case !known:
		return dispatch.ErrNoExecution
	case !open:
		return dispatch.ErrClosed
	}
	e.tokens[token] = false
	e.resumed = append(e.resumed, token)
	return nil
}

// waits opens the token of an execution that has entered its waiting state.
func (e *executions) waits(token string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tokens[token] = true
}

func (e *executions) told() (starts []start, resumed []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]start(nil), e.starts...), append([]string(nil), e.resumed...)
}

// desk is a ledger with one task and a dispatcher for it.
type desk struct {
	t          *testing.T
	clock      *ledgertest.Clock
	memory     *ledgertest.Memory
	faults     *ledgertest.Faults // between the dispatcher and the ledger
	auth       *ledger.Authority  // everybody else's, without faults
	executions *executions
	dispatcher *dispatch.Dispatcher
	ref        lifecycle.Ref
}

// newDesk has a task that was just submitted.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{
		t: t, clock: ledgertest.NewClock(), memory: ledgertest.NewMemory(), faults: &ledgertest.Faults{},
		executions: &executions{tokens: map[string]bool{}}, ref: lifecycle.Ref{Tenant: "t", Task: a2a.NewTaskID()},
	}
	d.auth = &ledger.Authority{Ledger: d.memory, Now: d.clock.Now, NewID: a2a.NewMessageID}
	faulty := &ledger.Authority{Ledger: d.faults.Ledger(d.memory), Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.dispatcher = &dispatch.Dispatcher{Authority: faulty, Executions: d.executions, Grace: grace}
	_, err := d.auth.Create(t.Context(), d.ref, lifecycle.Submit{
		ContextID: "c", Agent: "tester", AgentVersion: 1, Step: "a", Message: says("go"), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func says(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

// do decides a command as somebody else would; a report is made by whoever holds
// the lease.
func (d *desk) do(cmd lifecycle.Command) (ledger.Result, error) {
	t, err := d.auth.Load(context.Background(), d.ref)
	if err != nil {
		return ledger.Result{}, err
	}
	src := lifecycle.Source{Producer: "test"}
	if r, is := cmd.(lifecycle.Report); is {
		r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, grace
		src.Holder, src.Fence = t.Holder, t.Fence
		cmd = r
	}
	return d.auth.Do(context.Background(), t, cmd, src, ledger.Extra{})
}

func (d *desk) must(commands ...lifecycle.Command) {
	d.t.Helper()
	for _, cmd := range commands {
		if _, err := d.do(cmd); err != nil {
			d.t.Fatalf("%T: %v", cmd, err)
		}
	}
}

func (d *desk) head() lifecycle.Head {
	d.t.Helper()
	h, err := d.memory.Head(context.Background(), d.ref)
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

// write replaces the head past the rules, for counters that take long to reach.
func (d *desk) write(change func(h *lifecycle.Head)) {
	d.t.Helper()
	seen := d.head()
	after := seen
	change(&after)
	if err := d.memory.Commit(context.Background(), ledger.Commit{Seen: seen, Head: after}); err != nil {
		d.t.Fatal(err)
	}
}

// events are the task's entries, decoded.
func (d *desk) events() []lifecycle.Event {
	d.t.Helper()
	entries, err := d.memory.Entries(context.Background(), d.ref, 0, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	var out []lifecycle.Event
	for _, e := range entries {
		ev, err := e.Event()
		if err != nil {
			d.t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// wantTold holds what the executions were told against generations that were
// started and tokens that were resumed.
func (d *desk) wantTold(generations []uint64, tokens ...string) {
	d.t.Helper()
	starts, resumed := d.executions.told()
	if len(starts) != len(generations) {
		d.t.Fatalf("started %+v, want generations %v", starts, generations)
	}
	for i, s := range starts {
		in := dispatch.Input{Tenant: d.ref.Tenant, Task: d.ref.Task, Generation: generations[i]}
		if s.in != in || s.name != in.Name() {
			d.t.Errorf("started %+v, want %+v as %s", s, in, in.Name())
		}
	}
	if len(resumed) != len(tokens) {
		d.t.Fatalf("resumed %v, want %v", resumed, tokens)
	}
	for i := range tokens {
		if resumed[i] != tokens[i] {
			d.t.Errorf("resumed %v, want %v", resumed, tokens)
		}
	}
}

// Commands.

func grant(holder string) lifecycle.Command {
	return lifecycle.Grant{Holder: holder, Generation: 1, Lease: lease, Grace: grace}
}

// sleep waits for 90 s of a desk's clock, which begins where every new one does.
func sleep() lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "b", Until: ledgertest.NewClock().Now().Add(90 * time.Second)}
}

func moveOn() lifecycle.Command { return lifecycle.Report{Verb: lifecycle.VerbContinue, Next: "b"} }

// pause waits for an hour.
func pause(state a2a.TaskState) lifecycle.Command {
	terms := &lifecycle.PauseTerms{State: state, Timeout: time.Hour}
	if state == lifecycle.AuthRequired {
		terms.Challenge = &lifecycle.Challenge{Action: "delete"}
	}
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "b", Pause: terms, Message: says("May I?")}
}

func reply() lifecycle.Command { return lifecycle.Reply{Message: says("yes"), Grace: grace} }

func authorize() lifecycle.Command {
	return lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 1, Issuer: "i", KeyID: "k", JTI: "j", Digest: "d"}, Grace: grace}
}

func end(verb lifecycle.Verb) lifecycle.Command {
	return lifecycle.Report{Verb: verb, Reason: "over", Message: says("Over.")}
}

// beforeCommit lets somebody else come first, once.
type beforeCommit struct {
	ledger.Ledger
	once sync.Once
	hook func() error
}

// Commit implements ledger.Tasks.
func (b *beforeCommit) Commit(ctx context.Context, c ledger.Commit) error {
	var err error
	b.once.Do(func() { err = b.hook() })
	if err != nil {
		return err
	}
	return b.Ledger.Commit(ctx, c)
}
