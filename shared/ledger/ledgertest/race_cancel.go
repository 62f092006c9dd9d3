package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// cancelGrant cancels a task while an execution takes its first lease: canceled
// at once, or marked for the holder to meet.
var cancelGrant = contest{
	rounds:   raceRounds,
	outcomes: []string{"canceled at once", "the grant was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.submit(ctx)
		if err != nil {
			return "", err
		}
		var res ledger.Result
		var held lifecycle.Task
		errs := both(
			func() (err error) { res, err = d.cancel(ctx, t); return err },
			func() (err error) { held, err = d.grant(ctx, t, "holder"); return err }, s)
		if errs[0] != nil {
			return "", fmt.Errorf("the request: %w", errs[0])
		}
		after, _, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		switch {
		case lifecycle.RejectedFor(errs[1], lifecycle.PostTerminal) && !res.Marked:
			return "canceled at once", same("the state", after.State, lifecycle.Canceled)
		case errs[1] == nil && res.Marked && after.Cancel != nil:
			return "the grant was first", d.meets(ctx, held)
		default:
			return "", fmt.Errorf("marked %t, the grant was told %w", res.Marked, errs[1])
		}
	},
}

// meets lets a holder report once more, and wants the task canceled.
func (d *desk) meets(ctx context.Context, held lifecycle.Task) error {
	if _, err := d.report(ctx, held, progress()); err != nil {
		return fmt.Errorf("the holder that meets the mark: %w", err)
	}
	after, entries, err := d.verify(ctx, held.Ref())
	if err != nil {
		return err
	}
	if n := typesOf(entries, lifecycle.TypeCancelRequested); n != 1 {
		return fmt.Errorf("%d requests to cancel in the history", n)
	}
	return same("the state", after.State, lifecycle.Canceled)
}

// markProgress cancels while the holder reports: it meets the mark with this
// report or with the next one.
var markProgress = contest{
	rounds:   raceRounds,
	outcomes: []string{"the mark was first", "the progress was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		var held lifecycle.Task
		errs := both(
			func() error { _, err := d.cancel(ctx, t); return err },
			func() (err error) { held, err = d.report(ctx, t, progress()); return err }, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the request: %w, the report: %w", errs[0], errs[1])
		}
		after, _, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if after.Terminal() {
			return "the mark was first", same("the state", after.State, lifecycle.Canceled)
		}
		return "the progress was first", d.meets(ctx, held)
	},
}

// markPause cancels while the holder pauses and so gives its lease back. A mark
// that comes after it must not wait for a holder that is gone.
var markPause = contest{
	rounds:   raceRounds,
	outcomes: []string{"the mark was first", "the pause was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.cancel(ctx, t); return err }, // on a picture in which the lease is held
			func() error { _, err := d.report(ctx, t, pausing(lifecycle.InputRequired)); return err }, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the request: %w, the report: %w", errs[0], errs[1])
		}
		after, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if err := same("the state", after.State, lifecycle.Canceled); err != nil {
			return "", err
		}
		if typesOf(entries, lifecycle.TypePaused) == 0 {
			return "the mark was first", nil
		}
		return "the pause was first", nil
	},
}

// markEnd cancels while the holder completes: completed either way, with the
// request in its history if it came in time.
var markEnd = contest{
	rounds:   raceRounds,
	outcomes: []string{"the mark was first", "the end was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.cancel(ctx, t); return err },
			func() error { _, err := d.report(ctx, t, ending(lifecycle.VerbComplete)); return err }, s)
		if errs[1] != nil {
			return "", fmt.Errorf("the report: %w", errs[1])
		}
		after, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		requests := typesOf(entries, lifecycle.TypeCancelRequested)
		switch {
		case errs[0] == nil && requests == 1:
			return "the mark was first", same("the state", after.State, lifecycle.Completed)
		case lifecycle.RejectedFor(errs[0], lifecycle.PostTerminal) && requests == 0:
			return "the end was first", same("the state", after.State, lifecycle.Completed)
		default:
			return "", fmt.Errorf("the request was told %w, and is in the history %d times", errs[0], requests)
		}
	},
}

// markIntent cancels while the holder begins an effect: the intent is recorded
// before the mark, or not at all (I7).
var markIntent = contest{
	rounds:   raceRounds,
	outcomes: []string{"the mark was first", "the intent was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		req := lifecycle.EffectRequest{
			Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: lifecycle.DigestBytes(nil),
			Holder: t.Holder, Fence: t.Fence, CallUntil: d.clock.Now().Add(lease),
		}
		errs := both(
			func() error { _, err := d.cancel(ctx, t); return err },
			func() error { _, err := d.auth.BeginEffect(ctx, t.Ref(), req); return err }, s)
		if errs[0] != nil {
			return "", fmt.Errorf("the request: %w", errs[0])
		}
		effects, err := d.ledger.EffectList(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if _, _, err := d.verify(ctx, t.Ref()); err != nil {
			return "", err
		}
		_, refused := errors.AsType[*ledger.Conflict](errs[1])
		switch {
		case errs[1] == nil && len(effects) == 1:
			return "the intent was first", d.meets(ctx, t)
		case refused && len(effects) == 0:
			return "the mark was first", d.meets(ctx, t)
		default:
			return "", fmt.Errorf("the intent was told %w, and %d are recorded", errs[1], len(effects))
		}
	},
}
