package dispatch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// token is of the first attempt of generation 1.
func token(value string) ledger.Token { return ledger.Token{Value: value, Generation: 1} }

// paused is a desk whose task waits for an answer to pause 1.
func paused(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.must(grant(execution), pause(lifecycle.InputRequired))
	return d
}

// answer closes pause 1 and tells the executions.
func (d *desk) answer(cmd lifecycle.Command) error {
	res, err := d.do(cmd)
	if err != nil {
		return err
	}
	if res.Answered != 1 {
		return errors.New("pause 1 was not answered")
	}
	return d.dispatcher.Answered(d.t.Context(), res.Task.Head, res.Answered)
}

// Whatever closes a pause (a reply, a cancellation, its deadline) tells the
// execution that is parked on it.
func TestAnswered(t *testing.T) {
	late := func(d *desk) { d.clock.Advance(time.Hour) }
	for name, c := range map[string]struct {
		close lifecycle.Command
		when  func(d *desk)
		lives bool
	}{
		"reply":    {reply(), func(*desk) {}, true},
		"cancel":   {lifecycle.RequestCancel{}, func(*desk) {}, false},
		"deadline": {lifecycle.Expire{}, late, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("the token is stored", func(t *testing.T) {
				d := paused(t)
				d.executions.waits("a")
				d.await(token("a"))
				d.wantTold(nil)
				c.when(d)
				if err := d.answer(c.close); err != nil {
					t.Fatal(err)
				}
				d.wantTold(nil, "a")
			})
			t.Run("the token is not stored yet", func(t *testing.T) {
				d := paused(t)
				c.when(d)
				if err := d.answer(c.close); err != nil {
					t.Fatal(err)
				}
				d.wantTold(nil)
				d.executions.waits("a")
				d.await(token("a")) // and finds the mark
				d.wantTold(nil, "a")
			})
			t.Run("the token is closed", func(t *testing.T) {
				d := paused(t)
				d.executions.waits("a")
				d.await(token("a"))
				if err := d.executions.Resume(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				c.when(d)
				if err := d.answer(c.close); err != nil {
					t.Fatal(err)
				}
				d.wantTold(nil, "a")
			})
			t.Run("the execution is gone", func(t *testing.T) {
				d := paused(t)
				d.await(token("a")) // by a process that has died
				c.when(d)
				if err := d.answer(c.close); err != nil {
					t.Fatal(err)
				}
				if !c.lives {
					d.wantTold(nil) // an ended task needs no execution
					return
				}
				d.wantTold([]uint64{2})
				if h := d.head(); h.Generation != 2 {
					t.Errorf("generation %d, want 2", h.Generation)
				}
			})
		})
	}
}

// await is Await of a machine's state that must not fail. It waits with the token
// before it is told of it, as a state does.
func (d *desk) await(t ledger.Token) {
	d.t.Helper()
	if err := d.dispatcher.Await(d.t.Context(), d.ref, 1, t); err != nil {
		d.t.Fatal(err)
	}
}

// What cannot be told is an error for whoever tells, and is found by the sweep.
func TestAnsweredWithTrouble(t *testing.T) {
	d := paused(t)
	d.executions.waits("a")
	d.await(token("a"))
	d.executions.broken = errOops
	if err := d.answer(reply()); !errors.Is(err, errOops) {
		t.Errorf("error %v, want that of the executions", err)
	}
	d.executions.broken = nil
	d.faults.Plan = ledgertest.Always("Parked", ledgertest.FailBefore)
	if err := d.dispatcher.Answered(t.Context(), d.head(), 1); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want that of the ledger", err)
	}
	d.wantTold(nil)
	d.clock.Advance(grace)
	page, err := d.memory.Due(t.Context(), d.clock.Now(), nil, 10)
	if err != nil || len(page.Heads) != 1 {
		t.Errorf("%d tasks are due after the grace, %v; want the one that was not told", len(page.Heads), err)
	}
}

// An execution that has had many turns is not resumed for another one: the next
// generation takes over before the state machine's limit on its history, and the
// old execution is resumed so that it ends.
func TestAnswerHandsOver(t *testing.T) {
	d := paused(t)
	d.executions.waits("a")
	d.await(token("a"))
	d.write(func(h *lifecycle.Head) { h.Turns = lifecycle.MaxTurns })
	if err := d.answer(reply()); err != nil {
		t.Fatal(err)
	}
	d.wantTold([]uint64{2}, "a")
	if h := d.head(); h.Generation != 2 || h.Turns != 0 {
		t.Errorf("generation %d with %d turns, want the second with none", h.Generation, h.Turns)
	}
}
