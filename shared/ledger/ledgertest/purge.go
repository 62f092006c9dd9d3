package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var purgeTests = []test{
	{"a task is purged when it has ended and expired, not before (I8, case 65)", purgeInTime},
	{"a purge leaves nothing, and its sibling alone", purgeAll},
	{"nothing is added to a task whose purge has begun", purgeClosed},
	{"pieces are bounded, and remove nothing of a task that stays", purgePieces},
	{"a purge that dies at any call goes on (case 65)", purgeCrashes},
	{"the submission key becomes a note, and is free again in time (I5, case 65)", purgeKey},
	{"a purge that comes late leaves the key's next task alone (I5)", purgeLate},
	{"notes are removed in time, and not before", purgeNotes},
}

// keyNote is how long the suite remembers keys.
const keyNote = 30 * 24 * time.Hour

// purger purges over a ledger and a store of no blobs.
func (d *desk) purger(l ledger.Ledger) *ledger.Purger {
	return &ledger.Purger{Purges: l, Blobs: NewMemoryBlobs(), Now: d.clock.Now, KeyNote: keyNote}
}

// purge purges a task.
func (d *desk) purge(ctx context.Context, ref lifecycle.Ref) error {
	_, err := d.purger(d.ledger).Purge(ctx, ref)
	return err
}

// fullEvents are the events that a full task has receipts of.
var fullEvents = []string{"claim", "one", "two", "three", "canceled", "late"}

// full is an ended task that has something of everything, under a key.
func (d *desk) full(ctx context.Context, key *ledger.Key) (lifecycle.Ref, error) {
	ref := d.newRef()
	var failed error
	do := func(_ any, err error) {
		if failed == nil {
			failed = err
		}
	}
	do(d.auth.Create(ctx, ref, submission(), client(), key, d.endpoint("inline")))
	do(d.take(ctx, ref, claim(worker), sent{worker, "claim", 0, "claim"}))
	do(d.take(ctx, ref, told(1), tell(1, "one")))
	for i, event := range []string{"two", "three"} {
		chunk := told(1)
		chunk.Updates = []lifecycle.Update{{Chunk: piece("report", event, false), Append: i > 0}}
		do(d.take(ctx, ref, chunk, tell(uint64(i)+2, event)))
	}
	do(d.auth.BeginEffect(ctx, ref, lifecycle.EffectRequest{
		Visit: 1, Name: "pay", Policy: lifecycle.PolicyReconcile, RequestDigest: lifecycle.DigestBytes([]byte("pay")), Holder: worker, Fence: 1, CallUntil: d.clock.Now().Add(lease),
	}))
	do(d.ledger.Park(ctx, ref, 1, ledger.Token{Value: "token", Generation: 1, EnteredAt: lifecycle.Millis(d.clock.Now())}))
	do(nil, d.ledger.PutEndpoint(ctx, ref, d.endpoint("later")))
	t, err := d.auth.Load(ctx, ref)
	do(nil, err)
	do(d.cancel(ctx, t))
	do(d.take(ctx, ref, lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbCancel}, tell(4, "canceled")))
	if _, err := d.take(ctx, ref, told(1), sent{worker, "late", 5, "what was late"}); !lifecycle.RejectedFor(err, lifecycle.PostTerminal) {
		do(nil, fmt.Errorf("late output: %w", err))
	}
	do(nil, d.ledger.Hit(ctx, ref, worker, "late"))
	do(nil, d.ledger.Act(ctx, ref, ledger.Acted{At: lifecycle.Millis(d.clock.Now()), By: "key:night", Action: ledger.ActionExport}))
	return ref, failed
}

func (b *bench) filled(key *ledger.Key) lifecycle.Ref {
	b.Helper()
	ref, err := b.full(b.ctx, key)
	b.ok(err)
	return ref
}

// nothingOf complains if anything of a task can be read.
func (d *desk) nothingOf(ctx context.Context, ref lifecycle.Ref) error {
	var errs []error
	empty := func(what string, n int, err error) {
		if n > 0 || err != nil {
			errs = append(errs, fmt.Errorf("%d %s of %s are left (error %w)", n, what, ref.Task, err))
		}
	}
	absent := func(what string, err error) {
		if !errors.Is(err, ledger.ErrNotFound) {
			errs = append(errs, fmt.Errorf("%s of %s: error %w, want ErrNotFound", what, ref.Task, err))
		}
	}
	_, err := d.ledger.Head(ctx, ref)
	absent("the head", err)
	_, err = d.ledger.Counts(ctx, ref)
	absent("the counters", err)
	_, err = d.ledger.Effect(ctx, ref, 1, "pay")
	absent("the effect", err)
	_, err = d.ledger.Endpoint(ctx, ref, "inline")
	absent("the endpoint", err)
	for _, event := range fullEvents {
		_, err = d.ledger.Receipt(ctx, ref, worker, event)
		absent("the receipt of "+event, err)
	}
	entries, err := d.ledger.Entries(ctx, ref, 0, 0)
	empty("entries", len(entries), err)
	arts, err := d.ledger.Artifacts(ctx, ref)
	empty("artifacts", len(arts), err)
	effects, err := d.ledger.EffectList(ctx, ref)
	empty("effects", len(effects), err)
	refused, err := d.ledger.Rejections(ctx, ref)
	empty("rejections", len(refused), err)
	late, err := d.ledger.Quarantine(ctx, ref)
	empty("quarantined outputs", len(late), err)
	acts, err := d.ledger.Acts(ctx, ref)
	empty("operators' acts", len(acts), err)
	endpoints, err := d.ledger.EndpointList(ctx, ref)
	empty("endpoints", len(endpoints), err)
	m, err := d.ledger.Producer(ctx, ref, worker)
	empty("reports of the producer", int(m.Seq), err)
	parked, err := d.ledger.Parked(ctx, ref, 1)
	empty("bytes of a token", len(parked.Token.Value), err)
	if _, err := d.ledger.BeginPurge(ctx, ref, d.clock.Now()); !errors.Is(err, ledger.ErrNotFound) {
		errs = append(errs, fmt.Errorf("another purge of %s: error %w, want ErrNotFound", ref.Task, err))
	}
	return errors.Join(errs...)
}

// notExpired stops the test unless a purge is refused because it is too early.
func (b *bench) notExpired(what string, ref lifecycle.Ref, want time.Time) {
	b.Helper()
	b.untouched(ref, what, func() {
		early, is := errors.AsType[*ledger.NotExpired](b.purge(b.ctx, ref))
		if !is || early.Ref != ref || !early.ExpiresAt.Equal(want) {
			b.Fatalf("%s: answered %+v, want that it expires at %s", what, early, want)
		}
	})
}

func purgeInTime(b *bench) {
	b.want("the purge of a task that never was", b.purge(b.ctx, b.newRef()), ledger.ErrNotFound)
	lives := b.working("holder")
	b.clock.Advance(10 * 365 * 24 * time.Hour)
	b.notExpired("a purge of a task that lives", lives.Ref(), time.Time{})
	t := b.reported(b.working("holder"), ending(lifecycle.VerbComplete))
	b.notExpired("a purge just after the end", t.Ref(), t.ExpiresAt)
	b.clock.Advance(t.ExpiresAt.Sub(b.clock.Now()) - time.Microsecond)
	b.notExpired("a purge just before the expiry", t.Ref(), t.ExpiresAt)
	b.clock.Advance(time.Microsecond)
	b.ok(b.purge(b.ctx, t.Ref()))
	b.ok(b.nothingOf(b.ctx, t.Ref()))
}

func purgeAll(b *bench) {
	gone, stays := b.filled(b.newKey("gone")), b.filled(b.newKey("stays")) // of one conversation
	other := b.granted(b.submitted(), "holder")
	b.clock.Advance(lifecycle.DefaultRetention)
	b.untouched(stays, "the purge of another task", func() {
		b.untouched(other.Ref(), "the purge of another task", func() {
			removed, err := b.purger(b.ledger).Purge(b.ctx, gone)
			b.ok(err)
			b.Logf("a task with something of everything: %d records", removed)
			if few := 20; removed < few {
				b.Errorf("%d records were removed, the task had more than %d", removed, few)
			}
		})
	})
	b.ok(b.nothingOf(b.ctx, gone))
	b.ok(eventually(b.ctx, func() error {
		q := ledger.ListQuery{Tenant: b.tenant, ContextID: submission().ContextID, Limit: 10}
		page, err := b.ledger.List(b.ctx, q)
		if err != nil {
			return err
		}
		return sameTasks("the list", page.Heads, []lifecycle.Head{b.head(other.Ref()), b.head(stays)})
	}))
	b.ok(eventually(b.ctx, func() error {
		n, err := b.ledger.Count(b.ctx, ledger.ListQuery{Tenant: b.tenant, Agent: agentName})
		if err != nil {
			return err
		}
		return same("the count", n, ledger.Counted{Tasks: 2})
	}))
	b.want("a second purge", b.purge(b.ctx, gone), ledger.ErrNotFound)
}

// purgeClosed: what comes late finds no task, and leaves nothing (I2).
func purgeClosed(b *bench) {
	ref := b.filled(nil)
	t := b.task(ref)
	effect := b.effect(ref, 1, "pay")
	b.clock.Advance(lifecycle.DefaultRetention)
	_, err := b.ledger.BeginPurge(b.ctx, ref, b.clock.Now())
	b.ok(err)
	_, err = b.ledger.BeginPurge(b.ctx, ref, b.clock.Now())
	b.ok(err)
	_, err = b.ledger.Head(b.ctx, ref)
	b.want("the head of a task that is purged", err, ledger.ErrNotFound)
	for what, write := range map[string]func() error{
		"a commit": func() error {
			return b.ledger.Commit(b.ctx, ledger.Commit{Seen: t.Head, Head: t.Head, Receipts: []ledger.Receipt{{Producer: worker, EventID: "later"}}})
		},
		"a commit of none":  func() error { return b.ledger.Commit(b.ctx, ledger.Commit{Seen: t.Head, Head: t.Head}) },
		"a cancel mark":     func() error { return b.ledger.MarkCancel(b.ctx, ref, lifecycle.CancelMark{}, 1, "op-late") },
		"a rejection":       func() error { return b.ledger.Reject(b.ctx, ref, b.refused(1, lifecycle.PostTerminal)) },
		"a report":          func() error { _, err := b.take(b.ctx, ref, told(1), sent{worker, "later", 6, "later"}); return err },
		"a refusal":         func() error { return b.ledger.Refuse(b.ctx, ref, b.refusal(9, lifecycle.PostTerminal)) },
		"a hit":             func() error { return b.ledger.Hit(b.ctx, ref, worker, "late") },
		"an endpoint":       func() error { return b.ledger.PutEndpoint(b.ctx, ref, b.endpoint("new")) },
		"an intent":         func() error { return b.ledger.Intend(b.ctx, ref, b.intent(t, 2, "late")) },
		"the head of a new": func() error { return ignoreConflict(b.ledger.Create(b.ctx, b.creation(ref, nil, "op-new"))) },
	} {
		b.want(what+" while the task is purged", write(), ledger.ErrNotFound)
	}
	for more := true; more; {
		_, more, err = b.ledger.PurgePiece(b.ctx, ref)
		b.ok(err)
	}
	if err := b.ledger.Settle(b.ctx, ref, b.settled(effect, `"late"`)); !errors.Is(err, ledger.ErrEffectChanged) && !errors.Is(err, ledger.ErrNotFound) {
		b.Errorf("a result of an effect that was removed: error %v", err)
	}
	b.want("what is wanted of an endpoint that was removed", b.ledger.Want(b.ctx, ref, "inline", 9, b.clock.Now()), ledger.ErrNotFound)
	b.want("a delivery to it", b.ledger.Deliver(b.ctx, ref, "inline", ledger.Delivery{Revision: 1, Cursor: 9}), ledger.ErrNotFound)
	b.ok(b.ledger.DeleteEndpoint(b.ctx, ref, "inline"))
	b.ok(b.purge(b.ctx, ref))
	b.ok(b.nothingOf(b.ctx, ref))
}

// ignoreConflict takes a task ID that is in use for a task that is not there: a task
// that is purged has no head to tell of.
func ignoreConflict(err error) error {
	if _, is := errors.AsType[*ledger.Conflict](err); is {
		return ledger.ErrNotFound
	}
	return err
}

func purgePieces(b *bench) {
	t := b.working("holder")
	const entries = 2*ledger.MaxPurged + 50
	for t.Seq < entries-1 {
		r := progress()
		for range min(40, entries-1-int(t.Seq)) - 1 {
			r.Updates = append(r.Updates, lifecycle.Update{Message: says(a2a.MessageRoleAgent, "and on")})
		}
		t = b.reported(t, r)
	}
	t = b.reported(t, ending(lifecycle.VerbComplete))
	b.clock.Advance(lifecycle.DefaultRetention)
	b.untouched(t.Ref(), "a piece of a task whose purge has not begun", func() {
		removed, more, err := b.ledger.PurgePiece(b.ctx, t.Ref())
		b.ok(err)
		if removed > 0 || more {
			b.Fatalf("%d records were removed, more: %t", removed, more)
		}
	})
	_, err := b.ledger.BeginPurge(b.ctx, t.Ref(), b.clock.Now())
	b.ok(err)
	all, pieces := 0, 0
	for more := true; more; pieces++ {
		var removed int
		removed, more, err = b.ledger.PurgePiece(b.ctx, t.Ref())
		b.ok(err)
		if all += removed; removed > ledger.MaxPurged {
			b.Fatalf("a piece of %d records, the most is %d", removed, ledger.MaxPurged)
		}
	}
	if all < int(t.Seq) || pieces < 3 {
		b.Errorf("%d records in %d pieces, the task had %d entries", all, pieces, t.Seq)
	}
	b.ok(b.purge(b.ctx, t.Ref()))
	b.ok(b.nothingOf(b.ctx, t.Ref()))
}

// purgeCrashes lets a purge die at each of its calls, before and after it had its
// effect. The next one ends it.
func purgeCrashes(b *bench) {
	counting := &Crash{}
	run := func(crash *Crash) (lifecycle.Ref, ledger.Key, error) {
		key := b.newKey(a2a.NewMessageID())
		ref := b.filled(key)
		b.clock.Advance(lifecycle.DefaultRetention)
		process := &Faults{Crash: crash}
		p := b.purger(process.Ledger(b.ledger))
		p.Blobs = process.Blobs(NewMemoryBlobs())
		_, err := p.Purge(b.ctx, ref)
		return ref, *key, err
	}
	_, _, err := run(counting)
	b.ok(err)
	points := 0
	for at := 1; at <= counting.Calls(); at++ {
		for _, after := range []bool{false, true} {
			ref, key, err := run(&Crash{At: at, After: after})
			b.want(fmt.Sprintf("point %d", at), err, ErrCrashed)
			if err := b.purge(b.ctx, ref); err != nil && !ledger.Gone(err) {
				b.Fatalf("point %d (%s), after %t: the next purge: %v", at, counting.Names()[at-1], after, err)
			}
			if err := b.nothingOf(b.ctx, ref); err != nil {
				b.Fatalf("point %d (%s), after %t: %v", at, counting.Names()[at-1], after, err)
			}
			note, err := b.ledger.Key(b.ctx, key)
			if err != nil || !note.Expired() {
				b.Fatalf("point %d (%s), after %t: the key's note is %+v, error %v", at, counting.Names()[at-1], after, note, err)
			}
			points++
		}
	}
	b.Logf("%d points: %v", points, counting.Names())
}
