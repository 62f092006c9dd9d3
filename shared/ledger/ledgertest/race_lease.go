package ledgertest

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// staleHolder lets a holder whose lease ran out report while another one takes
// over. Whoever is first is right; the fence tells.
var staleHolder = contest{
	rounds:   raceRounds,
	outcomes: []string{"the report was first", "the grant was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		stale, err := d.started(ctx, "stale")
		if err != nil {
			return "", err
		}
		d.clock.Advance(lease)
		var fresh lifecycle.Task
		errs := both(
			func() error { _, err := d.report(ctx, stale, progress()); return err },
			func() (err error) { fresh, err = d.grant(ctx, stale, "fresh"); return err }, s)
		if errs[1] != nil {
			return "", fmt.Errorf("the grant: %w", errs[1])
		}
		t, entries, err := d.verify(ctx, stale.Ref())
		if err != nil {
			return "", err
		}
		if err := same("holder and fence", []any{t.Holder, t.Fence}, []any{"fresh", stale.Fence + 1}); err != nil {
			return "", err
		}
		// Whoever won, the stale holder is out, and the fresh one goes on.
		if _, err := d.report(ctx, stale, progress()); !lifecycle.RejectedFor(err, lifecycle.FenceLost) {
			return "", fmt.Errorf("the stale holder's next report: %w", err)
		}
		if _, err := d.report(ctx, fresh, ending(lifecycle.VerbComplete)); err != nil {
			return "", err
		}
		switch written := typesOf(entries, lifecycle.TypeProgress); {
		case errs[0] == nil && written == 1:
			return "the report was first", nil
		case lifecycle.RejectedFor(errs[0], lifecycle.FenceLost) && written == 0:
			return "the grant was first", nil
		default:
			return "", fmt.Errorf("the stale holder was told %w; %d of its entries are there", errs[0], written)
		}
	},
}

// sameHolder lets one holder take its lease twice: each grant has a fence of
// its own, and the older one is refused.
var sameHolder = contest{
	rounds:   raceRounds,
	outcomes: []string{"the second has the higher fence", "the first has the higher fence"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		var got [2]lifecycle.Task
		errs := both(
			func() (err error) { got[0], err = d.grant(ctx, t, "holder"); return err },
			func() (err error) { got[1], err = d.grant(ctx, t, "holder"); return err }, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the grants: %w, %w", errs[0], errs[1])
		}
		older, younger, outcome := got[0], got[1], "the second has the higher fence"
		if older.Fence > younger.Fence {
			older, younger, outcome = younger, older, "the first has the higher fence"
		}
		if older.Fence == younger.Fence {
			return "", fmt.Errorf("I3: two grants with fence %d", older.Fence)
		}
		if _, err := d.report(ctx, older, progress()); !lifecycle.RejectedFor(err, lifecycle.FenceLost) {
			return "", fmt.Errorf("the older grant's report: %w", err)
		}
		if _, err := d.report(ctx, younger, progress()); err != nil {
			return "", fmt.Errorf("the younger grant's report: %w", err)
		}
		_, _, err = d.verify(ctx, t.Ref())
		return outcome, err
	},
}

// restartGrant raises the generation while an execution of the old one asks for
// its lease.
var restartGrant = contest{
	rounds:   raceRounds,
	outcomes: []string{"the generation was first", "the grant was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		errs := both(
			func() error {
				_, err := d.auth.Do(ctx, t, lifecycle.Restart{Grace: grace}, runner("sweep", 0), ledger.Extra{})
				return err
			},
			func() error { _, err := d.grant(ctx, t, "old execution"); return err }, s)
		after, _, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		switch {
		case errs[0] == nil && lifecycle.RejectedFor(errs[1], lifecycle.Superseded):
			return "the generation was first", same("generation and fence", []uint64{after.Generation, after.Fence}, []uint64{2, 0})
		case errs[1] == nil && lifecycle.RejectedFor(errs[0], lifecycle.LeaseHeld):
			return "the grant was first", same("generation and fence", []uint64{after.Generation, after.Fence}, []uint64{1, 1})
		default:
			return "", fmt.Errorf("the restart was told %w, the grant %w", errs[0], errs[1])
		}
	},
}

// lostCommit loses the answer to a commit, while another invocation of the same
// execution takes the lease. The caller recognises its own success by the
// operation on its entry, whatever was written after it.
var lostCommit = contest{
	rounds:   raceRounds,
	outcomes: []string{"recognised"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		process := d.twice(On("Commit", FailAfter, 1))
		var res ledger.Result
		errs := both(
			func() (err error) {
				r := progress()
				r.Holder, r.Fence = t.Holder, t.Fence
				res, err = process.auth.Do(ctx, t, r, runner(t.Holder, t.Fence), ledger.Extra{})
				return err
			},
			func() error {
				if s == secondLeads {
					return nil // nobody comes after
				}
				if err := d.passed(ctx, t.Ref(), t.Seq); err != nil {
					return err
				}
				other, err := d.grant(ctx, t, "holder")
				if err == nil {
					_, err = d.report(ctx, other, progress())
				}
				return err
			}, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the lost commit: %w, the other: %w", errs[0], errs[1])
		}
		_, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if len(res.Entries) != 1 || res.Task.Fence != t.Fence {
			return "", fmt.Errorf("answered %d entries under fence %d", len(res.Entries), res.Task.Fence)
		}
		if n := entriesOf(entries, res.Entries[0].OpID); n != 1 {
			return "", fmt.Errorf("the operation wrote %d entries", n)
		}
		return "recognised", same("the answered entry", res.Entries[0], entries[t.Seq])
	},
}

// passed waits until the task has an entry after a sequence; Watch may return
// early.
func (d *desk) passed(ctx context.Context, ref lifecycle.Ref, seq uint64) error {
	for {
		if err := d.ledger.Watch(ctx, ref, seq); err != nil {
			return err
		}
		if h, err := d.ledger.Head(ctx, ref); err != nil || h.Seq > seq {
			return err
		}
	}
}

// lostGrant loses the answer to a grant, while another invocation of the same
// execution is granted the lease. Recognising its own success, the caller must
// not take the other one's fence for its own.
var lostGrant = contest{
	rounds:   raceRounds,
	outcomes: []string{"the fences differ"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		process := d.twice(On("Commit", FailAfter, 1))
		var got [2]lifecycle.Task
		errs := both(
			func() (err error) { got[0], err = process.grant(ctx, t, "holder"); return err },
			func() (err error) {
				if !s.leads() {
					if err := d.passed(ctx, t.Ref(), t.Seq); err != nil {
						return err
					}
				}
				got[1], err = d.grant(ctx, t, "holder")
				return err
			}, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the lost grant: %w, the other: %w", errs[0], errs[1])
		}
		if got[0].Fence == got[1].Fence {
			return "", fmt.Errorf("I3: both invocations were granted fence %d", got[0].Fence)
		}
		_, _, err = d.verify(ctx, t.Ref())
		return "the fences differ", err
	},
}
