package ledgertest

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// sameSequence lets two processes of one producer, under one fence, bring
// different reports under one sequence: exactly one wins it.
var sameSequence = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first won", "the second won"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.take(ctx, t.Ref(), told(1), tell(1, "first")); return err },
			func() error { _, err := d.take(ctx, t.Ref(), told(1), tell(1, "second")); return err }, s)
		won, winner := "the first won", "first"
		lost := errs[1]
		if errs[1] == nil {
			won, winner, lost = "the second won", "second", errs[0]
		}
		if (errs[0] == nil) == (errs[1] == nil) || !lifecycle.RejectedFor(lost, lifecycle.StaleSequence) {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		mark, err := d.ledger.Producer(ctx, t.Ref(), worker)
		if err != nil {
			return "", err
		}
		if err := same("the mark", mark, ledger.ProducerMark{Producer: worker, Seq: 1, EventID: winner}); err != nil {
			return "", err
		}
		return won, d.wrote(ctx, t, 1, ledger.Counts{Rejections: 1})
	},
}

// wrote holds a task that a worker had claimed against what came after: so many
// entries, and these counts.
func (d *desk) wrote(ctx context.Context, t lifecycle.Task, entries int, want ledger.Counts) error {
	_, all, err := d.verify(ctx, t.Ref())
	if err != nil {
		return err
	}
	if got := len(all) - int(t.Seq); got != entries {
		return fmt.Errorf("%d entries were written, want %d", got, entries)
	}
	counts, err := d.ledger.Counts(ctx, t.Ref())
	if err != nil {
		return err
	}
	return same("the counts", counts, want)
}

// sameReport brings one report twice at once: one is accepted, the other a hit.
var sameReport = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was accepted", "the second was accepted"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		taken, err := d.twiceTaken(ctx, t, told(1), tell(1, "one"), s)
		if err != nil {
			return "", err
		}
		if taken[0].Receipt.Seq != taken[1].Receipt.Seq {
			return "", fmt.Errorf("one event has sequences %d and %d", taken[0].Receipt.Seq, taken[1].Receipt.Seq)
		}
		return accepted(taken), d.wrote(ctx, t, 1, ledger.Counts{Hits: 1})
	},
}

// twiceTaken brings the same event twice. Exactly one of them must be the first.
func (d *desk) twiceTaken(ctx context.Context, t lifecycle.Task, cmd lifecycle.Command, what sent, s start) (taken [2]ledger.Taken, err error) {
	errs := both(
		func() (err error) { taken[0], err = d.take(ctx, t.Ref(), cmd, what); return err },
		func() (err error) { taken[1], err = d.take(ctx, t.Ref(), cmd, what); return err }, s)
	switch {
	case errs[0] != nil || errs[1] != nil:
		return taken, fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
	case taken[0].Repeated == taken[1].Repeated:
		return taken, fmt.Errorf("repeated: %t and %t", taken[0].Repeated, taken[1].Repeated)
	}
	return taken, nil
}

func accepted(taken [2]ledger.Taken) string {
	if taken[1].Repeated {
		return "the first was accepted"
	}
	return "the second was accepted"
}

// sameClaim brings one claim twice at once: one lease, one fence.
var sameClaim = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was accepted", "the second was accepted"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		taken, err := d.twiceTaken(ctx, t, claim(worker), tell(0, "claim again"), s) // writes no entry
		if err != nil {
			return "", err
		}
		after, err := d.ledger.Head(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if err := same("the fences", []uint64{taken[0].Receipt.Fence, taken[1].Receipt.Fence, after.Fence}, []uint64{2, 2, 2}); err != nil {
			return "", err
		}
		return accepted(taken), d.wrote(ctx, t, 0, ledger.Counts{Hits: 1})
	},
}

// gapFilled brings the second report of a producer while the first is under way.
// Tried again it is accepted, behind the first.
var gapFilled = contest{
	rounds:   raceRounds,
	outcomes: []string{"the gap was refused", "it was filled in time"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.take(ctx, t.Ref(), told(1), tell(1, "one")); return err },
			func() error { _, err := d.take(ctx, t.Ref(), told(1), tell(2, "two")); return err }, s)
		outcome := "it was filled in time"
		if lifecycle.RejectedFor(errs[1], lifecycle.SequenceGap) {
			outcome = "the gap was refused"
			_, errs[1] = d.take(ctx, t.Ref(), told(1), tell(2, "two"))
		}
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		entries, err := d.ledger.Entries(ctx, t.Ref(), t.Seq, 0)
		if err != nil {
			return "", err
		}
		if len(entries) != 2 || entries[0].SourceSeq != 1 || entries[1].SourceSeq != 2 {
			return "", fmt.Errorf("the entries are %+v", entries)
		}
		return outcome, d.wrote(ctx, t, 2, ledger.Counts{})
	},
}

// reportCancel cancels a task while its worker reports: the report is in the
// history, or its worker is told to decide first. What comes after that is late.
var reportCancel = contest{
	rounds:   raceRounds,
	outcomes: []string{"the report was first", "the mark was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		var marked ledger.Result
		errs := both(
			func() error { _, err := d.take(ctx, t.Ref(), told(1), tell(1, "one")); return err },
			func() (err error) { marked, err = d.cancel(ctx, t); return err }, s)
		if errs[1] != nil || !marked.Marked {
			return "", fmt.Errorf("the cancellation was told %w, marked %t", errs[1], marked.Marked)
		}
		outcome, seq := "the report was first", uint64(2)
		if lifecycle.RejectedFor(errs[0], lifecycle.CancelPending) {
			outcome, seq, errs[0] = "the mark was first", 1, nil
		}
		if errs[0] != nil {
			return "", fmt.Errorf("the report was told %w", errs[0])
		}
		if _, err := d.take(ctx, t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbCancel}, tell(seq, "canceled")); err != nil {
			return "", fmt.Errorf("the worker that cancels: %w", err)
		}
		if _, err := d.take(ctx, t.Ref(), told(1), tell(seq+1, "late")); !lifecycle.RejectedFor(err, lifecycle.PostTerminal) {
			return "", fmt.Errorf("late output was told %w", err)
		}
		return outcome, d.wrote(ctx, t, int(seq)+1, ledger.Counts{Rejections: 1, Quarantined: 1})
	},
}
