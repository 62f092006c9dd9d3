package node

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What an earlier process can have left behind.

func granted() lifecycle.Command {
	return lifecycle.Grant{Holder: "dead", Generation: 1, Lease: time.Hour, Grace: lifecycle.DefaultGrace}
}

func asleep(until time.Time) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "a", Until: until}
}

func paused() lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "a", Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}}
}

// A new process gives every live task that is not paused one new generation, over
// all pages of them, and each is worked on at once: nothing waits for a dead
// process's lease. Paused ones and ended ones are left alone.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const live, others = 1200, 100
		r := newRig(t, quick())
		var goOn, wait, over []lifecycle.Ref
		for i := range live {
			switch i % 3 {
			case 0:
				goOn = append(goOn, r.submit("quick"))
			case 1:
				goOn = append(goOn, r.submit("quick", granted()))
			default:
				goOn = append(goOn, r.submit("quick", granted(), asleep(time.Now().Add(time.Second))))
			}
		}
		for range others {
			wait = append(wait, r.submit("quick", granted(), paused()))
			over = append(over, r.submit("quick", lifecycle.RequestCancel{}))
		}
		began := time.Now()
		n := r.process()
		for _, ref := range goOn {
			h := r.until(ref, lifecycle.Completed)
			if h.Generation != 2 {
				t.Fatalf("generation %d, want 2", h.Generation)
			}
			r.whole(ref)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("taking over took %s", took)
		}
		for _, ref := range wait {
			if h := r.head(ref); h.Generation != 1 || h.Pause == nil {
				t.Fatalf("a paused task is in %s at generation %d", h.State, h.Generation)
			}
		}
		for _, ref := range over {
			if h := r.head(ref); h.Generation != 1 || h.State != lifecycle.Canceled {
				t.Fatalf("an ended task is in %s at generation %d", h.State, h.Generation)
			}
		}
		if s := n.Stats(); s.Started != live || s.Failed != 0 {
			t.Errorf("%+v, want %d executions", s, live)
		}
		r.stop(n, time.Minute)
	})
}

// A paused task of a dead process is answered, and ended at its deadline, by the
// next one, though no execution of it waits.
func TestPausedTaskOutlivesItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, quick())
		answered, ignored := r.submit("quick", granted(), paused()), r.submit("quick", granted(), paused())
		n := r.process()
		before, err := r.auth.Load(t.Context(), answered)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.auth.Do(t.Context(), before, lifecycle.Reply{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes")), Grace: lifecycle.DefaultGrace}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Dispatcher.Answered(t.Context(), res.Task.Head, res.Answered); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r.until(answered, lifecycle.Completed)
		if took, most := time.Since(began), lifecycle.DefaultGrace+DefaultTiming().Sweep; took > most {
			t.Errorf("the answer was worked on after %s, want the sweep's %s at most", took, most)
		}
		deadline := r.head(ignored).Pause.DeadlineAt
		r.until(ignored, lifecycle.Failed)
		if late := time.Since(deadline); late > DefaultTiming().Sweep {
			t.Errorf("the deadline was met %s late", late)
		}
		r.stop(n, time.Minute)
	})
}

// A process that cannot see what it takes over does not start.
func TestStartNeedsTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for method, want := range map[string]string{"Due": "looking for live tasks", "Head": "taking over task"} {
			r := newRig(t, quick())
			r.submit("quick")
			agents, err := catalog.New(r.agents...)
			if err != nil {
				t.Fatal(err)
			}
			faults := &ledgertest.Faults{Plan: ledgertest.Always(method, ledgertest.FailBefore)}
			n, err := New(Config{
				Ledger: faults.Ledger(r.memory), Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: DefaultTiming(),
				Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Start(); !errors.Is(err, ledger.ErrUnavailable) || !contains(err, want) {
				t.Errorf("without %s: %v, want unavailable and %q", method, err, want)
			}
			r.stop(n, time.Minute)
		}
	})
}
