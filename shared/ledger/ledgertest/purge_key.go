package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// resubmitted creates a task under a key, as a caller does who sends again.
func (b *bench) resubmitted(key *ledger.Key) (lifecycle.Task, error) {
	res, err := b.auth.Create(b.ctx, b.newRef(), submission(), client(), key)
	return res.Task, err
}

// note reads a key's note, and wants the task that it names and when it is forgotten.
func (b *bench) note(key ledger.Key, task lifecycle.Ref, forgetAt time.Time) ledger.KeyNote {
	b.Helper()
	n, err := b.ledger.Key(b.ctx, key)
	b.ok(err)
	if n.Task != task.Task || n.RequestDigest != submission().RequestDigest || !n.ForgetAt.Equal(forgetAt) {
		b.Fatalf("the note is %+v, want task %s until %s", n, task.Task, forgetAt)
	}
	return n
}

func purgeKey(b *bench) {
	key := b.newKey("k")
	t, err := b.resubmitted(key)
	b.ok(err)
	res, err := b.cancel(b.ctx, t)
	b.ok(err)
	t = res.Task
	b.note(*key, t.Ref(), time.Time{})
	b.clock.Advance(lifecycle.DefaultRetention + time.Hour) // the purge comes late
	b.ok(b.purge(b.ctx, t.Ref()))
	forgetAt := t.ExpiresAt.Add(keyNote)
	note := b.note(*key, t.Ref(), forgetAt)
	_, err = b.resubmitted(key)
	b.wantTaken(err, note)
	b.clock.Advance(forgetAt.Sub(b.clock.Now()) - time.Microsecond)
	_, err = b.resubmitted(key)
	b.wantTaken(err, note)
	b.clock.Advance(time.Millisecond) // entries count milliseconds
	again, err := b.resubmitted(key)
	b.ok(err)
	b.note(*key, again.Ref(), time.Time{})
	b.task(again.Ref())
}

// purgeLate: a purge that has slept since its key was given to another task.
func purgeLate(b *bench) {
	key := b.newKey("k")
	first, err := b.resubmitted(key)
	b.ok(err)
	_, err = b.cancel(b.ctx, first)
	b.ok(err)
	b.clock.Advance(lifecycle.DefaultRetention)
	begun, err := b.ledger.BeginPurge(b.ctx, first.Ref(), b.clock.Now())
	b.ok(err)
	b.is("what the purge knows of the key", begun.Key, key.Hash)
	b.ok(b.purge(b.ctx, first.Ref()))
	b.clock.Advance(keyNote + time.Millisecond)
	second, err := b.resubmitted(key)
	b.ok(err)
	b.untouched(second.Ref(), "the end of the purge that slept", func() {
		b.ok(b.ledger.EndPurge(b.ctx, begun, b.clock.Now().Add(keyNote)))
	})
	b.note(*key, second.Ref(), time.Time{})
	_, err = b.resubmitted(key)
	if _, taken := errors.AsType[*ledger.KeyTaken](err); !taken {
		b.Fatalf("a third task under the key: %v", err)
	}
}

// purgeNotes: a ledger whose notes vanish by themselves removes none when it is asked.
func purgeNotes(b *bench) {
	keys := make([]*ledger.Key, 5)
	for i := range keys {
		keys[i] = b.newKey(fmt.Sprint(i))
		t, err := b.resubmitted(keys[i])
		b.ok(err)
		if i == 0 {
			continue // lives, and its key with it
		}
		_, err = b.cancel(b.ctx, t)
		b.ok(err)
		b.clock.Advance(lifecycle.DefaultRetention)
		b.ok(b.purge(b.ctx, t.Ref()))
	}
	_, err := b.ledger.ForgetKeys(b.ctx, b.clock.Now().Add(keyNote-3*lifecycle.DefaultRetention-time.Millisecond), 1000)
	b.ok(err)
	for _, key := range keys {
		if _, err := b.ledger.Key(b.ctx, *key); err != nil {
			b.Errorf("the note of a key was removed early: %v", err)
		}
	}
	n, err := b.ledger.ForgetKeys(b.ctx, b.clock.Now().Add(keyNote), 3)
	b.ok(err)
	more, err := b.ledger.ForgetKeys(b.ctx, b.clock.Now().Add(keyNote), 1000)
	b.ok(err)
	if n+more != 0 && (n != 3 || more != 1) {
		b.Errorf("%d notes were removed, then %d; want at most 3, then 1", n, more)
	}
	if _, err := b.ledger.Key(b.ctx, *keys[0]); err != nil {
		b.Errorf("the key of a task that lives: %v", err)
	}
}

var expiredTests = []test{
	{"what has expired comes earliest first, of all tenants", expiredOrder},
	{"pages join, also among tasks of one instant", expiredPages},
	{"a task has expired when it has ended and its time has come (I8)", expiredInstant},
	{"a purge that has begun is found until it has ended", expiredBegun},
}

// expiredCrowd ends tasks of two tenants at three instants.
func (b *bench) expiredCrowd() []lifecycle.Head {
	b.Helper()
	var heads []lifecycle.Head
	other := &bench{T: b.T, desk: newDesk(b.ledger), ctx: b.ctx}
	for _, retain := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		for range 3 {
			for _, tenant := range []*bench{b, other} {
				t := tenant.submittedWith(func(c *lifecycle.Submit) { c.Policy.Retention = retain })
				res, err := tenant.cancel(b.ctx, t)
				b.ok(err)
				heads = append(heads, res.Task.Head)
			}
		}
	}
	return heads
}

// wantExpired waits until exactly these tasks are found, earliest first. Those of one
// instant may come in any order, and the ledger may hold others.
func (b *bench) wantExpired(what string, before time.Time, limit int, want ...lifecycle.Head) {
	b.Helper()
	at := map[lifecycle.Ref]time.Time{}
	for _, h := range want {
		at[h.Ref()] = h.ExpiresAt
	}
	b.ok(eventually(b.ctx, func() error {
		found := map[lifecycle.Ref]bool{}
		var last time.Time
		var after *ledger.ExpiredCursor
		for {
			page, err := b.ledger.Expired(b.ctx, before, after, limit)
			if err != nil {
				return err
			}
			if limit > 0 && len(page.Refs) > limit {
				return fmt.Errorf("a page of %d tasks, the limit is %d", len(page.Refs), limit)
			}
			for _, ref := range page.Refs {
				expiresAt, wanted := at[ref]
				switch {
				case !wanted && ref.Tenant == b.tenant, found[ref]:
					return fmt.Errorf("%s: %s was found", what, ref)
				case !wanted:
					continue
				case expiresAt.Before(last):
					return fmt.Errorf("%s: not the earliest first", what)
				}
				found[ref], last = true, expiresAt
			}
			if page.Next == nil {
				return same(what+": how many were found", len(found), len(want))
			}
			if after != nil && *after == *page.Next {
				return errors.New("a cursor that stands still")
			}
			after = page.Next
		}
	}))
}

func expiredOrder(b *bench) {
	all := b.expiredCrowd()
	b.wantExpired("all tasks", b.clock.Now().Add(4*time.Hour), 1000, all...)
	soon := slices.DeleteFunc(all, func(h lifecycle.Head) bool { return h.ExpiresAt.After(b.clock.Now().Add(time.Hour)) })
	b.wantExpired("those of the first hour", b.clock.Now().Add(time.Hour), 1000, soon...)
}

func expiredPages(b *bench) {
	all := b.expiredCrowd()
	for _, limit := range []int{1, 2, 5, 17, 18, 19} {
		b.wantExpired(fmt.Sprintf("pages of %d", limit), b.clock.Now().Add(4*time.Hour), limit, all...)
	}
}

func expiredInstant(b *bench) {
	t := b.working("holder")
	long := b.clock.Now().Add(10 * 365 * 24 * time.Hour)
	b.wantExpired("while it lives", long, 10)
	t = b.reported(t, ending(lifecycle.VerbComplete))
	b.wantExpired("at the instant", t.ExpiresAt, 10, t.Head)
	b.wantExpired("just before", t.ExpiresAt.Add(-time.Millisecond), 10)
	b.wantDue("what is due, long after", long, 10)
}

func expiredBegun(b *bench) {
	t := b.reported(b.working("holder"), ending(lifecycle.VerbComplete))
	b.clock.Advance(lifecycle.DefaultRetention)
	begun, err := b.ledger.BeginPurge(b.ctx, t.Ref(), b.clock.Now())
	b.ok(err)
	b.wantExpired("while it is purged", b.clock.Now(), 10, t.Head)
	for more := true; more; {
		_, more, err = b.ledger.PurgePiece(b.ctx, t.Ref())
		b.ok(err)
	}
	b.wantExpired("when all pieces are gone", b.clock.Now(), 10, t.Head)
	b.ok(b.ledger.EndPurge(b.ctx, begun, b.clock.Now()))
	b.wantExpired("afterwards", b.clock.Now(), 10)
}
