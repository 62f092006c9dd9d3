package node

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What is real in these tests: the node with all its parts, and agents. The ledger
// is the in-memory model, and time is fake: every test runs in a synctest bubble,
// which also fails when a goroutine is left behind.

// rig is a ledger on which processes come and go.
type rig struct {
	t      *testing.T
	memory *ledgertest.Memory
	auth   *ledger.Authority
	agents []*agent.Agent
	calls  *ledgertest.Crash // counts the calls of the last process
}

func newRig(t *testing.T, agents ...*agent.Agent) *rig {
	r := &rig{t: t, memory: ledgertest.NewMemory(), agents: agents}
	r.auth = &ledger.Authority{Ledger: r.memory, Now: time.Now, NewID: a2a.NewMessageID}
	return r
}

// process starts a node that has the ledger to itself.
func (r *rig) process() *Node {
	r.t.Helper()
	agents, err := catalog.New(r.agents...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.calls = &ledgertest.Crash{}
	faults := &ledgertest.Faults{Crash: r.calls}
	n, err := New(Config{
		Ledger: faults.Ledger(r.memory), Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: DefaultTiming(),
		Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// stop stops a node within patience and returns how long that took.
func (r *rig) stop(n *Node, patience time.Duration) time.Duration {
	r.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		r.t.Errorf("stopping: %v", err)
	}
	return time.Since(began)
}

// submit makes a task as an earlier process has left it.
func (r *rig) submit(name string, bring ...lifecycle.Command) lifecycle.Ref {
	r.t.Helper()
	ref := lifecycle.Ref{Tenant: Tenant, Task: a2a.NewTaskID()}
	_, err := r.auth.Create(r.t.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: name, AgentVersion: 1, Step: "a", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, cmd := range bring {
		t, err := r.auth.Load(r.t.Context(), ref)
		if err != nil {
			r.t.Fatal(err)
		}
		src := lifecycle.Source{Producer: "test"}
		if rep, is := cmd.(lifecycle.Report); is {
			rep.Holder, rep.Fence, rep.Grace = t.Holder, t.Fence, lifecycle.DefaultGrace
			src.Holder, src.Fence = t.Holder, t.Fence
			cmd = rep
		}
		if _, err := r.auth.Do(r.t.Context(), t, cmd, src, ledger.Extra{}); err != nil {
			r.t.Fatalf("%T: %v", cmd, err)
		}
	}
	return ref
}

// told submits a task and tells the node, as the door does.
func (r *rig) told(n *Node, name string) lifecycle.Ref {
	r.t.Helper()
	ref := r.submit(name)
	if err := n.Dispatcher.Submitted(r.t.Context(), r.head(ref)); err != nil {
		r.t.Fatal(err)
	}
	return ref
}

func (r *rig) head(ref lifecycle.Ref) lifecycle.Head {
	r.t.Helper()
	h, err := r.memory.Head(context.Background(), ref)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

// until waits, by the ledger's own watch, for a state.
func (r *rig) until(ref lifecycle.Ref, want a2a.TaskState) lifecycle.Head {
	r.t.Helper()
	for {
		h := r.head(ref)
		if h.State == want {
			return h
		}
		if h.Terminal() {
			r.t.Fatalf("the task has ended as %s, want %s", h.State, want)
		}
		if err := r.memory.Watch(r.t.Context(), ref, h.Seq); err != nil {
			r.t.Fatal(err)
		}
	}
}

// whole folds a task's entries, and wants them to be one history that was written
// under fences that only rise.
func (r *rig) whole(ref lifecycle.Ref) []lifecycle.Entry {
	r.t.Helper()
	entries, err := r.memory.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := lifecycle.Fold(ref, entries); err != nil {
		r.t.Errorf("I1: %v", err)
	}
	var fence uint64
	for _, e := range entries {
		if e.Fence > 0 && e.Fence < fence {
			r.t.Errorf("I3: entry %d was written under fence %d after %d", e.Seq, e.Fence, fence)
		}
		fence = max(fence, e.Fence)
	}
	return entries
}

type state struct{ N int }

type task = *agent.Task[state]

// worker is an agent of one step; its name is its own.
func worker(name string, timeout time.Duration, run func(context.Context, task) (agent.Next, error)) *agent.Agent {
	return agent.New(name, 1, agent.Step[state]{Name: "a", Timeout: timeout, Run: run})
}

// quick completes at once.
func quick() *agent.Agent {
	return worker("quick", 0, func(context.Context, task) (agent.Next, error) { return agent.Complete("done"), nil })
}

// steady works for so long, commits every second, and hears when it is told to stop.
func steady(seconds int) *agent.Agent {
	return worker("steady", time.Duration(seconds+10)*time.Second, func(ctx context.Context, t task) (agent.Next, error) {
		for t.State.N < seconds {
			select {
			case <-time.NewTimer(time.Second).C:
			case <-ctx.Done():
				return agent.Next{}, ctx.Err()
			}
			t.State.N++
			t.Report(fmt.Sprint(t.State.N))
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
		return agent.Complete("done"), nil
	})
}
