package journeys_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// beside is another process on the same ledger; neither has it to itself.
func (w *world) beside() *world {
	other := newWorld(w.t, w.agents...)
	other.ledger, other.blobs = w.ledger, w.blobs
	w.shared, other.shared = true, true
	return other
}

// Case 13: what one instance works on is streamed and canceled through the other.
func TestWatchAndCancelElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newWorld(t, hello.Agent)
		b := a.beside()
		na, nb := a.process(), b.process()
		defer a.stop(na)
		defer b.stop(nb)
		var s sent
		a.must(http.MethodPost, "/message:send", send("m", "count 4", ""), &s)
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
		there := b.all(b.subscribe(ref.Task, 1))
		if want := a.visible(ref)[1:]; !slices.Equal(ids(there), want) || there[len(there)-1].state() != a2a.TaskStateCompleted {
			t.Errorf("the other instance streams %v, want %v", ids(there), want)
		}
		if nb.Stats().Started != 0 {
			t.Error("the other instance ran something")
		}
		a.must(http.MethodPost, "/message:send", send("n", "count 100", ""), &s)
		<-time.NewTimer(1500 * time.Millisecond).C
		var canceled a2a.Task
		b.must(http.MethodPost, "/tasks/"+string(s.Task.ID)+":cancel", "", &canceled)
		if canceled.Status.State != a2a.TaskStateCanceled || a.task("", s.Task.ID).Status.State != a2a.TaskStateCanceled {
			t.Errorf("canceled elsewhere: %s", canceled.Status.State)
		}
		a.verify(s.Task.ID)
	})
}

// stall is a process whose clock stands still for a while: its writes get no
// further, and its step does not move.
type stall struct {
	on   atomic.Bool
	over chan struct{}
	once sync.Once
}

func (s *stall) end() { s.once.Do(func() { close(s.over) }) }

// faults delay the writes of the stalled process.
func (s *stall) faults() *ledgertest.Faults {
	return &ledgertest.Faults{
		Plan: func(c ledgertest.Call) ledgertest.Fault {
			if s.on.Load() && c.Method == "Commit" {
				return ledgertest.Delayed
			}
			return ledgertest.None
		},
		Delay: func(ctx context.Context, _ ledgertest.Call) error {
			select {
			case <-s.over:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// Cases 14, 17 and 18: a holder stalls past the end of its lease; another process
// may take over, and fails the task for good; then the first one wakes up and wants
// to complete it. Whoever is first ends the task, once; the other's word is refused
// by the fence, is seen by nobody, and is kept beside the task.
func TestStalledHolder(t *testing.T) {
	const rounds = 60
	completed, failed, fenced := 0, 0, 0
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) {
			s := &stall{over: make(chan struct{})}
			var runs atomic.Int32
			a := newWorld(t, agent.New("stalling", 1, agent.Step[note]{Name: "work", Timeout: 10 * time.Minute, Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
				if runs.Add(1) > 1 {
					<-time.NewTimer(10 * time.Second).C // in which the first holder may wake up
					return agent.Next{}, agent.Permanent(errors.New("there is nothing left to do"))
				}
				s.on.Store(true)
				<-s.over
				return agent.Complete("done"), nil
			}}))
			b := a.beside()
			na, err := a.tryProcess(s.faults().Ledger(a.ledger), a.blobs)
			if err != nil {
				t.Fatal(err)
			}
			nb := b.process()
			defer a.stop(na)
			defer b.stop(nb)
			defer s.end()
			id := a.submitOnly("stall")
			<-time.NewTimer(40*time.Second + time.Duration(round)*time.Second).C // its lease ended at 30 s
			s.end()
			<-time.NewTimer(2 * time.Minute).C
			ended := b.verify(id)
			kept, err := b.ledger.Rejections(t.Context(), ended.Ref())
			if err != nil {
				t.Fatal(err)
			}
			switch ended.State {
			case a2a.TaskStateCompleted:
				completed++
				if len(kept) != 0 || ended.Fence != 1 {
					t.Errorf("round %d: completed under fence %d with rejections %+v", round, ended.Fence, kept)
				}
			case a2a.TaskStateFailed:
				failed++
				if len(kept) > 0 && kept[0].Reason == lifecycle.FenceLost {
					fenced++
				}
				if len(kept) != 1 || kept[0].Reason != lifecycle.FenceLost && kept[0].Reason != lifecycle.PostTerminal || kept[0].Fence != 1 || ended.Fence != 2 {
					t.Errorf("round %d: failed under fence %d with rejections %+v; want one of the first holder's", round, ended.Fence, kept)
				}
			default:
				t.Errorf("round %d: the task is in %s", round, ended.State)
			}
			entries, err := b.ledger.Entries(t.Context(), ended.Ref(), 0, 0)
			if err != nil || len(entries) != 3 || entries[2].Type != lifecycle.TypeEnded {
				t.Errorf("round %d: %d entries, %v; want submitted, started and one end", round, len(entries), err)
			}
			if x, y := a.task("", id), b.task("", id); x.Status.State != ended.State || y.Status.State != ended.State {
				t.Errorf("round %d: one says %s, the other %s", round, x.Status.State, y.Status.State)
			}
		})
	}
	t.Logf("%d rounds: %d completed by the stalled holder, %d failed by its successor, at whose work it woke up %d times", rounds, completed, failed, fenced)
	if completed*10 < rounds || failed*10 < rounds || fenced*10 < rounds {
		t.Error("an outcome was seen in less than 10 % of the rounds")
	}
}
