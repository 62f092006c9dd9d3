package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// purgeRounds are few: a task with something of everything takes many requests.
const purgeRounds = 72

// stragglers are those who write beside a task when it has ended, each to its own part
// of it.
var stragglers = []func(ctx context.Context, d *desk, ref lifecycle.Ref, e lifecycle.Effect) error{
	func(ctx context.Context, d *desk, ref lifecycle.Ref, _ lifecycle.Effect) error {
		return d.ledger.Reject(ctx, ref, ledger.Rejected{At: d.clock.Now(), Producer: "client", Reason: lifecycle.PostTerminal})
	},
	func(ctx context.Context, d *desk, ref lifecycle.Ref, _ lifecycle.Effect) error {
		_, err := d.take(ctx, ref, told(1), sent{worker, "straggler", 6, "too late"})
		if lifecycle.RejectedFor(err, lifecycle.PostTerminal) {
			return nil
		}
		return err
	},
	func(ctx context.Context, d *desk, ref lifecycle.Ref, _ lifecycle.Effect) error {
		return d.ledger.Hit(ctx, ref, worker, "late")
	},
	func(ctx context.Context, d *desk, ref lifecycle.Ref, _ lifecycle.Effect) error {
		return d.ledger.PutEndpoint(ctx, ref, d.endpoint("straggler"))
	},
	func(ctx context.Context, d *desk, ref lifecycle.Ref, _ lifecycle.Effect) error {
		return d.ledger.Deliver(ctx, ref, "inline", ledger.Delivery{Revision: 1, Cursor: 9})
	},
	func(ctx context.Context, d *desk, ref lifecycle.Ref, e lifecycle.Effect) error {
		next, err := lifecycle.SettleEffect(e, lifecycle.EffectDone, []byte(`"late"`), "its own call", d.clock.Now())
		if err == nil {
			err = d.ledger.Settle(ctx, ref, next)
		}
		if errors.Is(err, ledger.ErrEffectChanged) {
			return ledger.ErrNotFound
		}
		return err
	},
}

// nextStraggler numbers the rounds over all lanes.
var nextStraggler atomic.Int64

const (
	cameFirst = "the straggler came first"
	foundNone = "the straggler found no task"
)

// purgeStraggler: whoever comes first, nothing is left.
var purgeStraggler = contest{
	rounds: purgeRounds, outcomes: []string{cameFirst, foundNone},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, err := d.full(ctx, d.newKey("k"))
		if err != nil {
			return "", err
		}
		e, err := d.ledger.Effect(ctx, ref, 1, "pay")
		if err != nil {
			return "", err
		}
		late := stragglers[int(nextStraggler.Add(1))%len(stragglers)]
		d.clock.Advance(lifecycle.DefaultRetention)
		errs := both(
			func() error { return d.purge(ctx, ref) },
			func() error { return late(ctx, d, ref, e) }, s)
		if errs[0] != nil {
			return "", fmt.Errorf("the purge: %w", errs[0])
		}
		if err := d.nothingOf(ctx, ref); err != nil {
			return "", err
		}
		switch {
		case errs[1] == nil:
			return cameFirst, nil
		case errors.Is(errs[1], ledger.ErrNotFound):
			return foundNone, nil
		}
		return "", fmt.Errorf("the straggler: %w", errs[1])
	},
}

const (
	bothPurged = "both went through it"
	onePurged  = "one found nothing"
)

// meeting is a ledger whose purges wait, once they have begun, until all have.
type meeting struct {
	ledger.Ledger

	begun sync.WaitGroup
}

func (m *meeting) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	p, err := m.Ledger.BeginPurge(ctx, ref, now)
	m.begun.Done()
	m.begun.Wait()
	return p, err
}

// twoPurges: a sweep and a record of the stream, say. Without a lead they go through
// the pieces side by side.
var twoPurges = contest{
	rounds: purgeRounds, outcomes: []string{bothPurged, onePurged},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		ref, err := d.full(ctx, d.newKey("k"))
		if err != nil {
			return "", err
		}
		d.clock.Advance(lifecycle.DefaultRetention)
		purge := func() error { return d.purge(ctx, ref) }
		if !s.leads() {
			m := &meeting{Ledger: d.ledger}
			m.begun.Add(2)
			purge = func() error {
				_, err := d.purger(m).Purge(ctx, ref)
				return err
			}
		}
		errs := both(purge, purge, s)
		if err := d.nothingOf(ctx, ref); err != nil {
			return "", err
		}
		note, err := d.ledger.Key(ctx, *d.newKey("k"))
		if err != nil || !note.Expired() {
			return "", fmt.Errorf("the key's note is %+v: %w", note, err)
		}
		gone := 0
		for _, err := range errs {
			if errors.Is(err, ledger.ErrNotFound) {
				gone++
			} else if err != nil {
				return "", err
			}
		}
		return [...]string{bothPurged, onePurged, "both found nothing"}[gone], nil
	},
}

const (
	givenTask = "the key still gave the task"
	givenNote = "the key gave its note"
)

// purgeResubmitted: whoever sends again is never given another task (I5).
var purgeResubmitted = contest{
	rounds: purgeRounds, outcomes: []string{givenTask, givenNote},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		key := d.newKey("k")
		ref, err := d.full(ctx, key)
		if err != nil {
			return "", err
		}
		d.clock.Advance(lifecycle.DefaultRetention)
		errs := both(
			func() error { return d.purge(ctx, ref) },
			func() error {
				_, err := d.auth.Create(ctx, d.newRef(), submission(), client(), key)
				return err
			}, s)
		if errs[0] != nil {
			return "", fmt.Errorf("the purge: %w", errs[0])
		}
		taken, is := errors.AsType[*ledger.KeyTaken](errs[1])
		switch {
		case !is || taken.Note.Task != ref.Task:
			return "", fmt.Errorf("the second submission: %w", errs[1])
		case taken.Note.Expired():
			return givenNote, nil
		}
		return givenTask, nil
	},
}

// forgottenKey: of two who come when the note's time is over, one gets the key (I5).
var forgottenKey = contest{
	rounds: purgeRounds, outcomes: []string{"the first", "the second"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		key := d.newKey("k")
		ref, err := d.full(ctx, key)
		if err != nil {
			return "", err
		}
		d.clock.Advance(lifecycle.DefaultRetention)
		if err := d.purge(ctx, ref); err != nil {
			return "", err
		}
		d.clock.Advance(keyNote + time.Second)
		refs := [2]lifecycle.Ref{d.newRef(), d.newRef()}
		create := func(i int) func() error {
			return func() error {
				_, err := d.auth.Create(ctx, refs[i], submission(), client(), key)
				return err
			}
		}
		errs := both(create(0), create(1), s)
		var won []a2a.TaskID
		for i, err := range errs {
			if err == nil {
				won = append(won, refs[i].Task)
			}
		}
		note, err := d.ledger.Key(ctx, *key)
		if err != nil || len(won) != 1 || note.Task != won[0] || note.Expired() {
			return "", fmt.Errorf("tasks %v were made, the key's note is %+v: %w", won, note, errors.Join(err, errs[0], errs[1]))
		}
		if errs[0] == nil {
			return "the first", nil
		}
		return "the second", nil
	},
}
