package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var errOops = errors.New("oops")

// A start is named after the task and its generation, and its input holds nothing
// that differs between two starts of one generation: whoever tells it, whenever,
// tells the same bytes. The contract with the state machine is the JSON.
func TestStartIsDeterministic(t *testing.T) {
	d := newDesk(t)
	heads := []lifecycle.Head{d.head()}
	for _, cmd := range []lifecycle.Command{grant(execution), moveOn(), grant(execution), pause(lifecycle.InputRequired), reply()} {
		d.must(cmd)
		heads = append(heads, d.head())
	}
	want := fmt.Sprintf(`{"tenant":"t","taskId":%q,"generation":1}`, d.ref.Task)
	for _, h := range heads {
		d.executions.starts = nil
		if err := d.dispatcher.Submitted(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		starts, _ := d.executions.told()
		input, err := json.Marshal(starts[0].in)
		if err != nil || string(input) != want {
			t.Errorf("at entry %d the input is %s, %v; want %s", h.Seq, input, err, want)
		}
		if name := starts[0].name; name != string(d.ref.Task)+"-g1" {
			t.Errorf("at entry %d the name is %s", h.Seq, name)
		}
		if starts[0].in.Ref() != d.ref {
			t.Errorf("the input's task is %v", starts[0].in.Ref())
		}
	}
}

func TestSubmittedTwiceIsOnce(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		if err := d.dispatcher.Submitted(t.Context(), d.head()); err != nil {
			t.Fatal(err)
		}
	}
	d.wantTold([]uint64{1})
}

// Restart gives a task that nobody works on its next generation, and leaves every
// other one alone.
func TestRestart(t *testing.T) {
	for name, c := range map[string]struct {
		bring   []lifecycle.Command
		restart bool // whether Restart raises the generation
		recover bool // whether Recover does
	}{
		"submitted":      {nil, true, true},
		"working":        {[]lifecycle.Command{grant(execution), moveOn()}, true, true},
		"leased":         {[]lifecycle.Command{grant(execution)}, false, true},
		"asleep":         {[]lifecycle.Command{grant(execution), sleep()}, true, true},
		"input-required": {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired)}, false, false},
		"auth-required":  {[]lifecycle.Command{grant(execution), pause(lifecycle.AuthRequired)}, false, false},
		"answered":       {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired), reply()}, true, true},
		"completed":      {[]lifecycle.Command{grant(execution), end(lifecycle.VerbComplete)}, false, false},
		"canceled":       {[]lifecycle.Command{lifecycle.RequestCancel{}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, gone := range []bool{false, true} {
				d := newDesk(t)
				d.must(c.bring...)
				again, raised := d.dispatcher.Restart, c.restart
				if gone {
					again, raised = d.dispatcher.Recover, c.recover
				}
				before := d.head()
				if err := again(t.Context(), d.ref); err != nil {
					t.Fatal(err)
				}
				after := d.head()
				if after.Seq != before.Seq {
					t.Errorf("holder gone %v: a restart wrote an entry", gone)
				}
				if !raised {
					d.wantTold(nil)
					continue
				}
				d.wantTold([]uint64{2})
				if after.Generation != 2 || after.Holder != "" || after.Fence != before.Fence {
					t.Errorf("holder gone %v: generation %d, holder %q, fence %d after %d", gone, after.Generation, after.Holder, after.Fence, before.Fence)
				}
			}
		})
	}
}

func TestRestartOfNothing(t *testing.T) {
	d := newDesk(t)
	d.ref.Task = "none"
	if err := d.dispatcher.Restart(t.Context(), d.ref); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("error %v, want not found", err)
	}
	d.wantTold(nil)
}

// Executions that never come to take the task say nothing about it: it does not fail
// by their number, and each is waited for twice as long as the one before, up to an
// hour. A lease begins that anew.
func TestGenerationsThatNobodyTakes(t *testing.T) {
	d := newDesk(t)
	var waits []time.Duration
	for range 40 {
		if err := d.dispatcher.Restart(t.Context(), d.ref); err != nil {
			t.Fatal(err)
		}
		waits = append(waits, d.head().DueAt.Sub(lifecycle.Millis(d.clock.Now())))
	}
	if h := d.head(); h.Terminal() || h.Generation != 41 {
		t.Fatalf("the task is in %s at generation %d", h.State, h.Generation)
	}
	for i, w := range waits {
		want := min(grace<<min(i, 20), lifecycle.MaxUntakenWait)
		if w != want {
			t.Errorf("restart %d is due after %s, want %s", i+1, w, want)
		}
	}
	d.must(lifecycle.Grant{Holder: execution, Generation: d.head().Generation, Lease: lease, Grace: grace})
	d.clock.Advance(lease)
	if err := d.dispatcher.Restart(t.Context(), d.ref); err != nil {
		t.Fatal(err)
	}
	if w := d.head().DueAt.Sub(lifecycle.Millis(d.clock.Now())); w != grace {
		t.Errorf("after a lease the next restart is due after %s, want %s", w, grace)
	}
}

// A cancellation that a dead holder has not met needs no new execution.
func TestRestartMeetsACancellation(t *testing.T) {
	d := newDesk(t)
	d.must(grant("dead"), lifecycle.RequestCancel{})
	d.clock.Advance(lease)
	if err := d.dispatcher.Restart(t.Context(), d.ref); err != nil {
		t.Fatal(err)
	}
	if h := d.head(); h.State != lifecycle.Canceled {
		t.Errorf("the task is in %s", h.State)
	}
	d.wantTold(nil)
}

// A new process that takes over proves nothing about the task: however often
// processes die, that is not what ends it.
func TestRecoverIsNotCounted(t *testing.T) {
	d := newDesk(t)
	const often = 40
	for range often {
		if err := d.dispatcher.Recover(t.Context(), d.ref); err != nil {
			t.Fatal(err)
		}
	}
	if h := d.head(); h.Terminal() || h.Generation != often+1 {
		t.Errorf("the task is in %s at generation %d", h.State, h.Generation)
	}
}

// A start that fails leaves the task to the sweep: its generation is raised, and
// it is due after the grace.
func TestStartThatFailsIsLeftToTheSweep(t *testing.T) {
	d := newDesk(t)
	d.executions.broken = errOops
	if err := d.dispatcher.Submitted(t.Context(), d.head()); !errors.Is(err, errOops) {
		t.Errorf("Submitted: %v", err)
	}
	d.clock.Advance(grace)
	if err := d.dispatcher.Restart(t.Context(), d.ref); !errors.Is(err, errOops) {
		t.Errorf("Restart: %v", err)
	}
	due := func() int {
		page, err := d.memory.Due(t.Context(), d.clock.Now(), nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Heads)
	}
	if h := d.head(); h.Generation != 2 || due() != 0 {
		t.Errorf("generation %d, %d tasks are due at once", h.Generation, due())
	}
	d.clock.Advance(grace)
	if due() != 1 {
		t.Errorf("%d tasks are due after the grace, want 1", due())
	}
	d.executions.broken = nil
	if err := d.dispatcher.Restart(t.Context(), d.ref); err != nil {
		t.Fatal(err)
	}
	d.wantTold([]uint64{3})
}

// An answer that was lost on the way does not raise the generation twice.
func TestRestartWithLostAnswer(t *testing.T) {
	d := newDesk(t)
	d.faults.Plan = ledgertest.On("Commit", ledgertest.FailAfter, 1)
	if err := d.dispatcher.Restart(t.Context(), d.ref); err != nil {
		t.Fatal(err)
	}
	d.wantTold([]uint64{2})
	if h := d.head(); h.Generation != 2 {
		t.Errorf("generation %d, want 2", h.Generation)
	}
}
