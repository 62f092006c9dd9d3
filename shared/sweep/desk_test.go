package sweep_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// What is real in these tests: the sweeper, the rules and the optimistic loop. The
// ledger is the in-memory model, time is a clock that the test moves. Executions
// restart a task by its rules, as the dispatcher does, and take its lease at once
// where a test wants that.

const (
	lease  = 30 * time.Second
	grace  = 30 * time.Second
	day    = 24 * time.Hour
	tenant = "t"
	// outside is the version that is worked on outside.
	outside = 3
)

// desk is a ledger with tasks, and a sweeper for them.
type desk struct {
	t       *testing.T
	clock   *ledgertest.Clock
	memory  *ledgertest.Memory
	auth    *ledger.Authority
	told    *executions
	sweeper *sweep.Sweeper
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, clock: ledgertest.NewClock(), memory: ledgertest.NewMemory()}
	d.auth = &ledger.Authority{Ledger: d.memory, Now: d.clock.Now, NewID: a2a.NewMessageID}
	d.told = &executions{auth: d.auth, restarted: map[a2a.TaskID]int{}, answered: map[a2a.TaskID]int{}}
	d.sweeper = d.newSweeper()
	return d
}

// newSweeper is another process's sweeper, with the same executions.
func (d *desk) newSweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Authority: d.auth, Executions: d.told, Page: 4, Most: 1000, Logger: slog.New(slog.DiscardHandler),
		Known:   func(agent string, version int) bool { return agent == "tester" && version == 1 },
		Outside: func(agent string, version int) bool { return agent == "tester" && version == outside },
	}
}

// executions counts what it was told.
type executions struct {
	auth *ledger.Authority

	mu        sync.Mutex
	restarted map[a2a.TaskID]int
	answered  map[a2a.TaskID]int // by the pause
	broken    map[a2a.TaskID]error
	run       bool // an execution takes the lease at once
}

// Restart implements sweep.Executions.
func (e *executions) Restart(ctx context.Context, ref lifecycle.Ref) error {
	e.mu.Lock()
	e.restarted[ref.Task]++
	err, run := e.broken[ref.Task], e.run
	e.mu.Unlock()
	if err != nil {
		return err
	}
	t, err := e.auth.Load(ctx, ref)
	if err != nil {
		return err
	}
	res, err := e.auth.Do(ctx, t, lifecycle.Restart{Grace: grace}, lifecycle.Source{Producer: "dispatch"}, ledger.Extra{})
	if lifecycle.RejectedFor(err, lifecycle.LeaseHeld, lifecycle.NotDue, lifecycle.PostTerminal) {
		return nil
	}
	if err != nil || !run || res.Task.Terminal() {
		return err
	}
	grant := lifecycle.Grant{Holder: fmt.Sprintf("g%d", res.Task.Generation), Generation: res.Task.Generation, Lease: lease, Grace: grace}
	_, err = e.auth.Do(ctx, res.Task, grant, lifecycle.Source{Producer: "runner", Holder: grant.Holder}, ledger.Extra{})
	return err
}

// Answered implements sweep.Executions.
func (e *executions) Answered(_ context.Context, h lifecycle.Head, pause int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answered[h.Task] = pause
	return e.broken[h.Task]
}

// submit makes a task of the agent in a version, and brings it on.
func (d *desk) submit(version int, bring ...lifecycle.Command) lifecycle.Ref {
	d.t.Helper()
	ref := lifecycle.Ref{Tenant: tenant, Task: a2a.NewTaskID()}
	_, err := d.auth.Create(d.t.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: "tester", AgentVersion: version, Step: "a", Message: says("go"), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.must(ref, bring...)
	return ref
}

// task is a task of the known version.
func (d *desk) task(bring ...lifecycle.Command) lifecycle.Ref {
	d.t.Helper()
	return d.submit(1, bring...)
}

func says(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

// must brings a task on; reports are made by whoever holds the lease.
func (d *desk) must(ref lifecycle.Ref, commands ...lifecycle.Command) {
	d.t.Helper()
	for _, cmd := range commands {
		t, err := d.auth.Load(context.Background(), ref)
		if err != nil {
			d.t.Fatal(err)
		}
		src := lifecycle.Source{Producer: "test"}
		if r, is := cmd.(lifecycle.Report); is {
			r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, grace
			src.Holder, src.Fence = t.Holder, t.Fence
			cmd = r
		}
		if _, err := d.auth.Do(context.Background(), t, cmd, src, ledger.Extra{}); err != nil {
			d.t.Fatalf("%T: %v", cmd, err)
		}
	}
}

func (d *desk) head(ref lifecycle.Ref) lifecycle.Head {
	d.t.Helper()
	h, err := d.memory.Head(context.Background(), ref)
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

// last is the task's last entry, once its history was found whole.
func (d *desk) last(ref lifecycle.Ref) lifecycle.Event {
	d.t.Helper()
	entries, err := d.memory.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := lifecycle.Fold(ref, entries); err != nil {
		d.t.Errorf("I1: %v", err)
	}
	ev, err := entries[len(entries)-1].Event()
	if err != nil {
		d.t.Fatal(err)
	}
	return ev
}

// sweep runs once and wants to have found.
func (d *desk) sweep(want sweep.Found) {
	d.t.Helper()
	got, err := d.sweeper.Run(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if got != want {
		d.t.Errorf("found %+v, want %+v", got, want)
	}
}

// Commands.

func grant() lifecycle.Command {
	return lifecycle.Grant{Holder: "e1", Generation: 1, Lease: lease, Grace: grace}
}

func moveOn() lifecycle.Command { return lifecycle.Report{Verb: lifecycle.VerbContinue, Next: "b"} }

func (d *desk) sleep(delay time.Duration) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "b", Until: d.clock.Now().Add(delay)}
}

func pause(timeout time.Duration, outcome a2a.TaskState) lifecycle.Command {
	terms := &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: timeout, Outcome: outcome}
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "b", Pause: terms, Message: says("May I?")}
}

func reply() lifecycle.Command { return lifecycle.Reply{Message: says("yes"), Grace: grace} }
