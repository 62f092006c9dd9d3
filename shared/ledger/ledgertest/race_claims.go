package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// twoClaims lets two workers claim a task at once, by events of one name: each has names
// of its own, and one of them gets the lease.
var twoClaims = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first has the lease", "the second has the lease"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		ask := func(producer string) func() error {
			return func() error {
				_, err := d.take(ctx, t.Ref(), claim(producer), sent{producer, "claim", 0, "claim of " + producer})
				return err
			}
		}
		errs := both(ask("one"), ask("two"), s)
		outcome, winner, lost := "the first has the lease", "one", errs[1]
		if errs[1] == nil {
			outcome, winner, lost = "the second has the lease", "two", errs[0]
		}
		if (errs[0] == nil) == (errs[1] == nil) || !lifecycle.RejectedFor(lost, lifecycle.LeaseHeld) {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		h, err := d.ledger.Head(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if err := same("holder and fence", []any{h.Holder, h.Fence}, []any{winner, 1}); err != nil {
			return "", err
		}
		return outcome, d.wrote(ctx, t, 1, ledger.Counts{})
	},
}

// expiredReport lets a worker report whose lease has run out while another one claims:
// the report is in the history, or it has lost its fence, and the other one has the lease
// either way (I3).
var expiredReport = contest{
	rounds:   raceRounds,
	outcomes: []string{"the report was first", "the claim was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		d.clock.Advance(lease)
		var taken ledger.Taken
		errs := both(
			func() error { _, err := d.take(ctx, t.Ref(), named(1, 1, "a"), tell(1, "one")); return err },
			func() (err error) {
				taken, err = d.take(ctx, t.Ref(), claim("another"), sent{"another", "claim", 0, "claim"})
				return err
			}, s)
		if errs[1] != nil || taken.Receipt.Fence != 2 || taken.Task.Holder != "another" {
			return "", fmt.Errorf("the claim was told %w, fence %+v", errs[1], taken.Receipt)
		}
		outcome, entries, counts := "the report was first", 1, ledger.Counts{}
		if lifecycle.RejectedFor(errs[0], lifecycle.FenceLost) {
			outcome, entries, counts, errs[0] = "the claim was first", 0, ledger.Counts{Rejections: 1}, nil
		}
		if errs[0] != nil {
			return "", fmt.Errorf("the report was told %w", errs[0])
		}
		return outcome, d.wrote(ctx, t, entries, counts)
	},
}

// lastQuarantined brings late output from several sides where there is room for few
// pieces: those are kept, all are counted, and each that is kept is remembered.
var lastQuarantined = contest{
	rounds:   raceRounds / raceRoundsShort,
	outcomes: []string{"the cap held"},
	round: func(ctx context.Context, d *desk, _ start) (string, error) {
		const room, racers = 3, 9
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		if _, err := d.cancel(ctx, t); err != nil {
			return "", err
		}
		if _, err := d.take(ctx, t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbCancel}, tell(1, "canceled")); err != nil {
			return "", err
		}
		late := func(i int) error {
			_, err := d.take(ctx, t.Ref(), told(1), tell(2, fmt.Sprint("late-", i)))
			if lifecycle.RejectedFor(err, lifecycle.PostTerminal) {
				return nil
			}
			return fmt.Errorf("late output was told %w", err)
		}
		for i := range lifecycle.MaxQuarantined - room {
			if err := late(i); err != nil {
				return "", err
			}
		}
		errs := make([]error, racers)
		var all sync.WaitGroup
		var next atomic.Int64
		for i := range racers {
			all.Go(func() { errs[i] = late(lifecycle.MaxQuarantined + int(next.Add(1))) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return "", err
		}
		kept, err := d.ledger.Quarantine(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		n := lifecycle.MaxQuarantined - room + racers
		if err := same("how many are kept", len(kept), lifecycle.MaxQuarantined); err != nil {
			return "", err
		}
		for _, q := range kept {
			if _, err := d.ledger.Receipt(ctx, t.Ref(), q.Producer, q.EventID); err != nil {
				return "", fmt.Errorf("of %q: %w", q.EventID, err)
			}
		}
		return "the cap held", d.wrote(ctx, t, 2, ledger.Counts{Rejections: n, Quarantined: n})
	},
}

// twoEnds lets two processes of one worker end its task at once, one way each: one end is
// written, and the other one gets a typed refusal and writes nothing.
var twoEnds = contest{
	rounds:   raceRounds,
	outcomes: []string{"completed", "failed"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		end := func(verb lifecycle.Verb) func() error {
			return func() error {
				r := ending(verb)
				r.Holder, r.Fence = worker, 1
				_, err := d.take(ctx, t.Ref(), r, tell(1, string(verb)))
				return err
			}
		}
		errs := both(end(lifecycle.VerbComplete), end(lifecycle.VerbFail), s)
		outcome, state, lost := "completed", lifecycle.Completed, errs[1]
		if errs[1] == nil {
			outcome, state, lost = "failed", lifecycle.Failed, errs[0]
		}
		if (errs[0] == nil) == (errs[1] == nil) || !lifecycle.RejectedFor(lost, lifecycle.PostTerminal, lifecycle.StaleSequence) {
			return "", fmt.Errorf("who completes was told %w, who fails %w", errs[0], errs[1])
		}
		h, err := d.ledger.Head(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if h.State != state {
			return "", fmt.Errorf("the task is %s, and %s was accepted", h.State, outcome)
		}
		return outcome, d.wrote(ctx, t, 1, ledger.Counts{Rejections: 1})
	},
}
