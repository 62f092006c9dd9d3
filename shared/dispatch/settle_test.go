package dispatch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// settlements is the whole of Settle: a task in every state, with the lease in
// whoever's hands, and the words that its execution is given at once, and later.
// An execution of an older generation ends in every row that is not terminal.
//
// Pauses last for an hour, leases for 30 s, sleeps for 90 s, lives for 90 days.
const settlements = `
task                     | at once     | in a minute | in 2 hours  | in 91 days
submitted                | continue    | wait 5      | wait 5      | wait 5
leased by me             | wait 5      | wait 5      | wait 5      | wait 5
leased by another        | wait 30     | wait 5      | wait 5      | wait 5
not leased               | wait 5      | wait 5      | wait 5      | wait 5
asleep                   | wait 90     | wait 30     | wait 5      | wait 5
backing off              | wait 90     | wait 30     | wait 5      | wait 5
input-required           | await 3600  | await 3540  | failed      | failed
auth-required            | await 3600  | await 3540  | failed      | failed
input-required or cancel | await 3600  | await 3540  | done        | done
answered                 | continue    | wait 5      | wait 5      | wait 5
authorized               | wait 5      | wait 5      | wait 5      | wait 5
completed                | done        | done        | done        | done
failed                   | failed      | failed      | failed      | failed
canceled                 | done        | done        | done        | done
rejected                 | done        | done        | done        | done
`

// situations bring a task where the rows of settlements want it.
var situations = map[string][]lifecycle.Command{
	"submitted":                nil,
	"leased by me":             {grant(execution)},
	"leased by another":        {grant("e0")},
	"not leased":               {grant(execution), moveOn()},
	"asleep":                   {grant(execution), sleep()},
	"backing off":              {grant(execution), backOff()},
	"input-required":           {grant(execution), pause(lifecycle.InputRequired)},
	"auth-required":            {grant(execution), pause(lifecycle.AuthRequired)},
	"input-required or cancel": {grant(execution), pauseOrCancel()},
	"answered":                 {grant(execution), pause(lifecycle.InputRequired), reply()},
	"authorized":               {grant(execution), pause(lifecycle.AuthRequired), authorize()},
	"completed":                {grant(execution), end(lifecycle.VerbComplete)},
	"failed":                   {grant(execution), end(lifecycle.VerbFail)},
	"canceled":                 {lifecycle.RequestCancel{}},
	"rejected":                 {grant(execution), end(lifecycle.VerbReject)},
}

var moments = []time.Duration{0, time.Minute, 2 * time.Hour, 91 * 24 * time.Hour}

func backOff() lifecycle.Command {
	r, _ := sleep().(lifecycle.Report)
	r.Verb, r.Next, r.Reason = lifecycle.VerbRetry, "", "not yet"
	return r
}

func pauseOrCancel() lifecycle.Command {
	r, _ := pause(lifecycle.InputRequired).(lifecycle.Report)
	r.Pause.Outcome = lifecycle.Canceled
	return r
}

// word is an outcome as the table writes it.
func word(o lifecycle.Outcome) string {
	if o.Seconds == 0 {
		return string(o.Word)
	}
	return fmt.Sprintf("%s %d", o.Word, o.Seconds)
}

func (d *desk) settle(generation uint64) (lifecycle.Outcome, error) {
	return d.dispatcher.Settle(d.t.Context(), dispatch.Input{Tenant: d.ref.Tenant, Task: d.ref.Task, Generation: generation}, execution)
}

func TestSettle(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(settlements), "\n")[1:]
	if len(rows) != len(situations) {
		t.Errorf("%d rows for %d situations", len(rows), len(situations))
	}
	for _, row := range rows {
		cells := strings.Split(row, "|")
		name := strings.TrimSpace(cells[0])
		bring, known := situations[name]
		if !known || len(cells) != 1+len(moments) {
			t.Fatalf("no situation is called %q, or its row has not %d words", name, len(moments))
		}
		for i, moment := range moments {
			want := strings.TrimSpace(cells[i+1])
			t.Run(fmt.Sprintf("%s after %s", name, moment), func(t *testing.T) {
				for _, generation := range []uint64{1, 0} {
					d := newDesk(t)
					d.must(bring...)
					ended := d.head().Terminal()
					d.clock.Advance(moment)
					out, err := d.settle(generation)
					if err != nil {
						t.Fatal(err)
					}
					expected := want
					if generation == 0 && !ended {
						expected = "done"
					}
					if word(out) != expected {
						t.Errorf("generation %d: %q, want %q", generation, word(out), expected)
					}
					if out.Word == lifecycle.WordAwait && out.Pause != 1 {
						t.Errorf("generation %d: awaits pause %d", generation, out.Pause)
					}
					if _, err := lifecycle.Fold(d.ref, d.entries()); err != nil {
						t.Error(err)
					}
					d.wantTold(nil) // it only looks
				}
			})
		}
	}
}

func (d *desk) entries() []lifecycle.Entry {
	d.t.Helper()
	entries, err := d.memory.Entries(d.t.Context(), d.ref, 0, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	return entries
}

// A task whose pause ended at its deadline ended by the deadline's outcome, with
// the reason for operators and a message for callers.
func TestSettleExpires(t *testing.T) {
	d := paused(t)
	d.clock.Advance(time.Hour)
	if out, err := d.settle(1); err != nil || out.Word != lifecycle.WordFailed {
		t.Fatalf("%+v, %v; want failed", out, err)
	}
	events := d.events()
	last := events[len(events)-1]
	if last.State != lifecycle.Failed || last.Ending.Reason != string(lifecycle.PauseExpired) || last.Message.Parts[0].Text() != "Nobody answered before the deadline." {
		t.Errorf("the last entry is %+v", last)
	}
}

func TestSettleOfAPurgedTask(t *testing.T) {
	d := newDesk(t)
	d.ref.Task = "purged"
	if out, err := d.settle(1); err != nil || word(out) != "done" {
		t.Errorf("%+v, %v; want done", out, err)
	}
}

// An unavailable ledger is an error: the state machine tries again, and nothing is
// concluded from it.
func TestSettleWithoutALedger(t *testing.T) {
	for name, c := range map[string]struct {
		desk func(*testing.T) *desk
		plan ledgertest.Plan
	}{
		"head":           {newDesk, ledgertest.Always("Head", ledgertest.FailBefore)},
		"expiry, before": {paused, ledgertest.Always("Commit", ledgertest.FailBefore)},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.desk(t)
			d.clock.Advance(time.Hour)
			before := d.head()
			d.faults.Plan = c.plan
			if out, err := d.settle(1); !errors.Is(err, ledger.ErrUnavailable) || out != (lifecycle.Outcome{}) {
				t.Errorf("%+v, %v; want unavailable", out, err)
			}
			if after := d.head(); after.Seq != before.Seq {
				t.Error("something was written")
			}
		})
	}
	t.Run("expiry, after", func(t *testing.T) {
		d := paused(t)
		d.clock.Advance(time.Hour)
		d.faults.Plan = ledgertest.On("Commit", ledgertest.FailAfter, 1)
		if out, err := d.settle(1); err != nil || word(out) != "failed" {
			t.Errorf("%+v, %v; want failed: the write had happened", out, err)
		}
		if n := len(d.events()); n != 4 {
			t.Errorf("%d entries, want 4: one end", n)
		}
	})
}

// The pause is answered while Settle wants to expire it (clocks differ): the
// answer counts, and the execution goes on at once.
func TestSettleMeetsAnAnswer(t *testing.T) {
	d := paused(t)
	early := *d.auth
	now := d.clock.Now()
	early.Now = func() time.Time { return now }
	d.clock.Advance(time.Hour)
	hooked := &beforeCommit{Ledger: d.memory, hook: func() error {
		task, err := early.Load(t.Context(), d.ref)
		if err != nil {
			return err
		}
		_, err = early.Do(t.Context(), task, reply(), lifecycle.Source{Producer: "client"}, ledger.Extra{})
		return err
	}}
	d.dispatcher.Authority.Ledger = hooked
	out, err := d.settle(1)
	if err != nil || word(out) != "continue" {
		t.Errorf("%+v, %v; want continue", out, err)
	}
	if h := d.head(); h.State != lifecycle.Working {
		t.Errorf("the task is in %s", h.State)
	}
}
