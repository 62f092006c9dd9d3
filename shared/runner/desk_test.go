package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/runner"
)

// What is real in these tests: the runner, the rules, the optimistic loop and
// agents. The ledger is the in-memory model. Time is fake: every test runs in a
// synctest bubble.

// one is a catalog of one agent.
type one struct{ agent *agent.Agent }

func (o one) Lookup(name string, version int) (*agent.Agent, bool) {
	return o.agent, o.agent.Name() == name && o.agent.Version() == version
}

// desk is a ledger with one task and a runner for it.
type desk struct {
	t      *testing.T
	ledger ledger.Ledger
	auth   *ledger.Authority
	blobs  ledger.Blobs
	runner *runner.Runner
	ref    lifecycle.Ref
	calls  atomic.Int64 // of the ledger's Commit
}

// counting counts commits.
type counting struct {
	ledger.Ledger
	commits *atomic.Int64
}

func (c counting) Commit(ctx context.Context, commit ledger.Commit) error {
	c.commits.Add(1)
	return c.Ledger.Commit(ctx, commit)
}

func newDesk(t *testing.T, a *agent.Agent) *desk {
	t.Helper()
	return newDeskUnder(t, a, nil)
}

// newDeskUnder is a desk whose task was accepted under terms.
func newDeskUnder(t *testing.T, a *agent.Agent, terms *lifecycle.Terms) *desk {
	t.Helper()
	d := &desk{t: t, blobs: ledgertest.NewMemoryBlobs(), ref: lifecycle.Ref{Tenant: "t", Task: a2a.NewTaskID()}}
	d.ledger = counting{ledgertest.NewMemory(), &d.calls}
	d.auth = &ledger.Authority{Ledger: d.ledger, Now: time.Now, NewID: a2a.NewMessageID}
	d.runner = runner.New(runner.Config{
		Authority: d.auth, Blobs: d.blobs, Agents: one{a}, Rand: func() float64 { return 1 },
		Lease: 30 * time.Second, Renewal: 10 * time.Second, Grace: 30 * time.Second, Reserve: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
	judged := lifecycle.DefaultPolicy()
	judged.Terms = terms
	_, err := d.auth.Create(t.Context(), d.ref, lifecycle.Submit{
		ContextID: "c", Agent: a.Name(), AgentVersion: a.Version(), Step: a.First(),
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Policy: judged,
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// invoke is one invocation of the task's current generation.
func (d *desk) invoke(limit time.Duration) lifecycle.Outcome {
	d.t.Helper()
	out, err := d.invokeErr(limit)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func (d *desk) invokeErr(limit time.Duration) (lifecycle.Outcome, error) {
	generation := d.head().Generation
	return d.runner.Run(context.Background(), runner.Input{Ref: d.ref, Generation: generation, Execution: "e1", DeadlineAt: time.Now().Add(limit)})
}

func (d *desk) head() lifecycle.Head {
	d.t.Helper()
	h, err := d.ledger.Head(context.Background(), d.ref)
	if err != nil {
		d.t.Fatal(err)
	}
	return h
}

func (d *desk) events() []lifecycle.Event {
	d.t.Helper()
	entries, err := d.ledger.Entries(context.Background(), d.ref, 0, 0)
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

// do decides a command as somebody else would.
func (d *desk) do(cmd lifecycle.Command) error {
	d.t.Helper()
	t, err := d.auth.Load(context.Background(), d.ref)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = d.auth.Do(context.Background(), t, cmd, lifecycle.Source{Producer: "test"}, ledger.Extra{})
	return err
}

func (d *desk) wantState(want a2a.TaskState) {
	d.t.Helper()
	t, err := d.auth.Load(context.Background(), d.ref)
	if err != nil {
		d.t.Fatal(err)
	}
	if t.State != want {
		d.t.Errorf("the task is in %s, want %s", t.State, want)
	}
	if broken := lifecycle.Check(t); len(broken) > 0 {
		d.t.Errorf("invariants: %v", broken)
	}
	entries, err := d.ledger.Entries(context.Background(), d.ref, 0, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	folded, err := lifecycle.Fold(d.ref, entries)
	if err != nil {
		d.t.Error(err)
	}
	if folded.Chain != t.Chain || folded.Seq != t.Seq || folded.State != t.State {
		d.t.Errorf("I1: folding gives %s at %d, the head is %s at %d", folded.State, folded.Seq, t.State, t.Seq)
	}
}

type state struct{ N int }

type task = *agent.Task[state]

var errOops = errors.New("oops")

// steps makes an agent of functions; the steps are named a, b, c …
func steps(runs ...func(context.Context, task) (agent.Next, error)) *agent.Agent {
	var table []agent.Step[state]
	for i, run := range runs {
		table = append(table, agent.Step[state]{Name: string(rune('a' + i)), Run: run})
	}
	return agent.New("tester", 1, table...)
}

func to(next string) func(context.Context, task) (agent.Next, error) {
	return func(_ context.Context, t task) (agent.Next, error) {
		t.State.N++
		return agent.Continue(next), nil
	}
}

func complete(_ context.Context, _ task) (agent.Next, error) { return agent.Complete("done"), nil }
