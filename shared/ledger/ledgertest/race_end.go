package ledgertest

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// completeFail ends a task twice under one lease: exactly one terminal entry,
// and the loser gets a typed rejection (I2, case 18).
var completeFail = contest{
	rounds:   raceRounds,
	outcomes: []string{"completed", "failed"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.report(ctx, t, ending(lifecycle.VerbComplete)); return err },
			func() error { _, err := d.report(ctx, t, ending(lifecycle.VerbFail)); return err }, s)
		after, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if n := typesOf(entries, lifecycle.TypeEnded); n != 1 {
			return "", fmt.Errorf("I2: %d terminal entries", n)
		}
		switch {
		case errs[0] == nil && lifecycle.RejectedFor(errs[1], lifecycle.PostTerminal):
			return "completed", same("the state", after.State, lifecycle.Completed)
		case errs[1] == nil && lifecycle.RejectedFor(errs[0], lifecycle.PostTerminal):
			return "failed", same("the state", after.State, lifecycle.Failed)
		default:
			return "", fmt.Errorf("completing was told %w, failing %w", errs[0], errs[1])
		}
	},
}

// replyGrant answers a question while an execution asks for the lease: nothing
// runs before the answer is committed.
var replyGrant = contest{
	rounds:   raceRounds,
	outcomes: []string{"the reply was first", "the grant was first"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.paused(ctx)
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.reply(ctx, t); return err },
			func() error {
				now, err := d.auth.Load(ctx, t.Ref())
				if err == nil {
					_, err = d.grant(ctx, now, "holder")
				}
				return err
			}, s)
		if errs[0] != nil {
			return "", fmt.Errorf("the reply: %w", errs[0])
		}
		after, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if err := same("the last entry", entries[len(entries)-1].Type, lifecycle.TypeReply); err != nil {
			return "", err
		}
		switch {
		case errs[1] == nil:
			return "the reply was first", same("the fence", after.Fence, t.Fence+1)
		case lifecycle.RejectedFor(errs[1], lifecycle.IllegalTransition):
			return "the grant was first", same("the fence", after.Fence, t.Fence)
		default:
			return "", fmt.Errorf("the grant: %w", errs[1])
		}
	},
}

// twoReplies answers one question twice: one reply is accepted.
var twoReplies = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was accepted", "the second was accepted"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.paused(ctx)
		if err != nil {
			return "", err
		}
		var got [2]ledger.Result
		errs := both(
			func() (err error) { got[0], err = d.reply(ctx, t); return err },
			func() (err error) { got[1], err = d.reply(ctx, t); return err }, s)
		_, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		if n := typesOf(entries, lifecycle.TypeReply); n != 1 {
			return "", fmt.Errorf("%d replies to one question", n)
		}
		switch {
		case errs[0] == nil && got[0].Answered == 1 && lifecycle.RejectedFor(errs[1], lifecycle.IllegalTransition):
			return "the first was accepted", nil
		case errs[1] == nil && got[1].Answered == 1 && lifecycle.RejectedFor(errs[0], lifecycle.IllegalTransition):
			return "the second was accepted", nil
		default:
			return "", fmt.Errorf("the replies were told %w and %w", errs[0], errs[1])
		}
	},
}

// parkAnswer parks an execution while the answer comes. Both write first and
// read afterwards, so whoever comes second sees both.
var parkAnswer = contest{
	rounds:   raceRounds,
	outcomes: []string{"the answer saw the token", "the token saw the answer"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.paused(ctx)
		if err != nil {
			return "", err
		}
		token := ledger.Token{Value: "token", Generation: 1, EnteredAt: lifecycle.Millis(d.clock.Now())}
		var parked, answered ledger.Parked
		errs := both(
			func() (err error) { parked, err = d.ledger.Park(ctx, t.Ref(), 1, token); return err },
			func() error {
				res, err := d.reply(ctx, t)
				if err == nil {
					answered, err = d.ledger.Parked(ctx, t.Ref(), res.Answered)
				}
				return err
			}, s)
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("parking: %w, answering: %w", errs[0], errs[1])
		}
		if !answered.Answered || parked.Token != token {
			return "", fmt.Errorf("somebody does not see what it wrote itself: %v, %v", parked, answered)
		}
		if _, _, err := d.verify(ctx, t.Ref()); err != nil {
			return "", err
		}
		switch {
		case parked.Answered:
			return "the token saw the answer", nil // and the answer perhaps the token: resuming twice is once
		case answered.Token == token:
			return "the answer saw the token", nil
		default:
			return "", fmt.Errorf("nobody saw both: the execution sleeps on")
		}
	},
}
