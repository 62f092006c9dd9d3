package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// completed is a completed task whose policy says how long it is kept once it was
// exported.
func (d *desk) completed(ctx context.Context) (lifecycle.Task, error) {
	res, err := d.auth.Create(ctx, d.newRef(), judged(exportedFor), client(), nil)
	if err != nil {
		return res.Task, err
	}
	t, err := d.grant(ctx, res.Task, "holder")
	if err != nil {
		return t, err
	}
	return d.report(ctx, t, ending(lifecycle.VerbComplete))
}

// process is another process at the same ledger, whose clock is ahead by something and
// whose operations have a name.
func (d *desk) process(name string, ahead time.Duration) *ledger.Authority {
	return &ledger.Authority{Ledger: d.ledger, Now: func() time.Time { return d.clock.Now().Add(ahead) }, NewID: func() string { return name + "-" + d.auth.NewID() }}
}

// twoAcknowledgements acknowledge one task in two processes whose clocks differ: one of
// them counts, and both are told of that one.
var twoAcknowledgements = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first counts", "the second counts"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.completed(ctx)
		if err != nil {
			return "", err
		}
		var heads [2]lifecycle.Head
		one, other := d.process("first", 0), d.process("second", time.Minute)
		errs := both(
			func() (err error) {
				heads[0], err = one.Acknowledge(ctx, t.Ref(), t.TerminalReceipt())
				return err
			},
			func() (err error) {
				heads[1], err = other.Acknowledge(ctx, t.Ref(), t.TerminalReceipt())
				return err
			}, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		after, _, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		for _, h := range heads {
			if err := same("what a process was told", h, after.Head); err != nil {
				return "", err
			}
		}
		at := lifecycle.Millis(d.clock.Now())
		outcome := "the first counts"
		if after.AckedAt.After(at) {
			outcome, at = "the second counts", at.Add(time.Minute)
		}
		return outcome, same("the expiry", after.ExpiresAt, at.Add(exportedFor))
	},
}

// acknowledgeDeliver acknowledges a task while its webhook gets the last update: kept for
// the deliveries if it had not got it yet, never shorter than the policy says.
var acknowledgeDeliver = contest{
	rounds:   raceRounds,
	outcomes: []string{"the acknowledgement was first", "the delivery was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.completed(ctx)
		if err != nil {
			return "", err
		}
		at := lifecycle.Millis(d.clock.Now())
		e := ledger.Endpoint{ID: "one", URL: "https://hooks.example/", CreatedAt: at, Delivery: ledger.Delivery{Cursor: t.Seq - 1, Wanted: t.Seq, DueAt: at}}
		if err := d.ledger.PutEndpoint(ctx, t.Ref(), e); err != nil {
			return "", err
		}
		sent := e.Delivery
		sent.Cursor, sent.DueAt, sent.Revision = t.Seq, time.Time{}, sent.Revision+1
		errs := both(
			func() error { _, err := d.auth.Acknowledge(ctx, t.Ref(), t.TerminalReceipt()); return err },
			func() error { return d.ledger.Deliver(ctx, t.Ref(), e.ID, sent) }, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the acknowledgement was told %w, the delivery %w", errs[0], errs[1])
		}
		after, _, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		switch {
		case after.ExpiresAt.Equal(t.StatusAt.Add(lifecycle.MinRetention)):
			return "the acknowledgement was first", nil
		case after.ExpiresAt.Equal(at.Add(exportedFor)):
			return "the delivery was first", nil
		default:
			return "", fmt.Errorf("acknowledged at %s, the task expires at %s", after.AckedAt, after.ExpiresAt)
		}
	},
}

// acknowledgePurge acknowledges a task at its very end, by a clock that is behind, while
// it is purged: whoever comes first, nothing of it is left.
var acknowledgePurge = contest{
	rounds:   purgeRounds,
	outcomes: []string{"the acknowledgement was first", "the purge was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.completed(ctx)
		if err != nil {
			return "", err
		}
		d.clock.Advance(t.ExpiresAt.Sub(d.clock.Now()))
		late := d.process("late", -time.Minute)
		errs := both(
			func() error { _, err := late.Acknowledge(ctx, t.Ref(), t.TerminalReceipt()); return err },
			func() error { return d.purge(ctx, t.Ref()) }, s)
		if errs[1] != nil {
			return "", fmt.Errorf("the purge: %w", errs[1])
		}
		if err := d.nothingOf(ctx, t.Ref()); err != nil {
			return "", err
		}
		switch {
		case errs[0] == nil:
			return "the acknowledgement was first", nil
		case errors.Is(errs[0], ledger.ErrNotFound):
			return "the purge was first", nil
		}
		return "", fmt.Errorf("the acknowledgement: %w", errs[0])
	},
}
