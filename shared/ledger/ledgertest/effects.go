package ledgertest

import (
	"errors"
	"strings"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var effectTests = []test{
	{"a record is read back as it was written", effectReadBack},
	{"an intent is guarded by the fence (I3, I7)", effectFence},
	{"an intent is refused once cancellation was requested", effectMarked},
	{"an ended task takes no intent (I2)", effectEnded},
	{"intents and results are guarded by the record's revision (I7)", effectRevision},
	{"a result is accepted without the fence, also after the end (I7, case 22)", effectSettle},
	{"records are listed by visit and name", effectList},
	{"two callers of one effect: one intent (I7, case 21)", effectTwoCallers},
}

// intent is the first record of an effect, under the lease of t.
func (b *bench) intent(t lifecycle.Task, visit uint64, name string) lifecycle.Effect {
	b.Helper()
	decision, err := lifecycle.DecideEffect(t.Task, nil, lifecycle.EffectRequest{
		Visit: visit, Name: name, Policy: lifecycle.PolicyReconcile, RequestDigest: lifecycle.DigestBytes([]byte(name)),
		Holder: t.Holder, Fence: t.Fence, CallUntil: b.clock.Now().Add(lease),
	}, b.clock.Now())
	b.ok(err)
	return decision.Next
}

func (b *bench) settled(e lifecycle.Effect, result string) lifecycle.Effect {
	b.Helper()
	next, err := lifecycle.SettleEffect(e, lifecycle.EffectDone, []byte(result), "its own call", b.clock.Now())
	b.ok(err)
	return next
}

func (b *bench) effect(ref lifecycle.Ref, visit uint64, name string) lifecycle.Effect {
	b.Helper()
	e, err := b.ledger.Effect(b.ctx, ref, visit, name)
	b.ok(err)
	return e
}

func effectReadBack(b *bench) {
	t := b.working("holder")
	head := b.head(t.Ref())
	_, err := b.ledger.Effect(b.ctx, t.Ref(), 1, "pay")
	b.want("an effect that was never begun", err, ledger.ErrNotFound)
	e := b.intent(t, 1, "pay")
	b.ok(b.ledger.Intend(b.ctx, t.Ref(), e))
	b.is("the intent", b.effect(t.Ref(), 1, "pay"), e)
	done := b.settled(e, `{"é":"`+strings.Repeat("x", lifecycle.MaxEffectResultBytes-20)+`","n":1e400}`)
	b.ok(b.ledger.Settle(b.ctx, t.Ref(), done))
	b.is("the result", b.effect(t.Ref(), 1, "pay"), done)
	b.is("the head", b.head(t.Ref()), head)
}

func effectFence(b *bench) {
	older := b.working("holder")
	younger := b.granted(older, "holder")
	b.untouched(older.Ref(), "an intent under an older lease", func() {
		b.conflict("an intent under an older lease", b.ledger.Intend(b.ctx, older.Ref(), b.intent(older, 1, "pay")), older.Ref())
	})
	future := younger
	future.Fence++
	b.conflict("an intent under no lease yet", b.ledger.Intend(b.ctx, older.Ref(), b.intent(future, 1, "pay")), older.Ref())
	b.ok(b.ledger.Intend(b.ctx, older.Ref(), b.intent(younger, 1, "pay")))
}

func effectMarked(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.untouched(t.Ref(), "an intent after the mark", func() {
		c := b.conflict("an intent after the mark", b.ledger.Intend(b.ctx, t.Ref(), b.intent(t, 1, "pay")), t.Ref())
		if c.Current.Cancel == nil {
			b.Fatal("the conflict does not show the mark")
		}
	})
}

func effectEnded(b *bench) {
	t := b.working("holder")
	b.reported(t, ending(lifecycle.VerbFail))
	b.untouched(t.Ref(), "an intent after the end", func() {
		b.conflict("an intent after the end", b.ledger.Intend(b.ctx, t.Ref(), b.intent(t, 1, "pay")), t.Ref())
	})
}

func effectRevision(b *bench) {
	t := b.working("holder")
	first := b.intent(t, 1, "pay")
	ahead := first
	ahead.Revision = 2
	b.want("a second intent before the first", b.ledger.Intend(b.ctx, t.Ref(), ahead), ledger.ErrEffectChanged)
	b.want("a result before any intent", b.ledger.Settle(b.ctx, t.Ref(), ahead), ledger.ErrEffectChanged)
	b.ok(b.ledger.Intend(b.ctx, t.Ref(), first))
	done := b.settled(first, `1`)
	other := b.settled(first, `2`)
	b.ok(b.ledger.Settle(b.ctx, t.Ref(), done))
	for what, err := range map[string]error{
		"the same intent again":    b.ledger.Intend(b.ctx, t.Ref(), first),
		"an intent over a result":  b.ledger.Intend(b.ctx, t.Ref(), ahead),
		"the same result again":    b.ledger.Settle(b.ctx, t.Ref(), done),
		"a result over the result": b.ledger.Settle(b.ctx, t.Ref(), other),
	} {
		b.want(what, err, ledger.ErrEffectChanged)
	}
	b.is("the record", b.effect(t.Ref(), 1, "pay"), done)
}

func effectSettle(b *bench) {
	stale := b.working("holder")
	marked, ended := b.intent(stale, 1, "marked"), b.intent(stale, 1, "ended")
	b.ok(b.ledger.Intend(b.ctx, stale.Ref(), marked))
	b.ok(b.ledger.Intend(b.ctx, stale.Ref(), ended))
	fresh := b.granted(stale, "holder")
	_, err := b.cancel(b.ctx, fresh)
	b.ok(err)
	b.ok(b.ledger.Settle(b.ctx, stale.Ref(), b.settled(marked, `"ok"`)))
	b.reported(fresh, progress())
	b.ok(b.ledger.Settle(b.ctx, stale.Ref(), b.settled(ended, `"ok"`)))
	b.is("the state", b.task(stale.Ref()).State, lifecycle.Canceled)
	b.is("the result", b.effect(stale.Ref(), 1, "ended").State, lifecycle.EffectDone)
}

func effectList(b *bench) {
	t := b.working("holder")
	none, err := b.ledger.EffectList(b.ctx, t.Ref())
	b.ok(err)
	b.is("the records of a task without", len(none), 0)
	want := make([]lifecycle.Effect, 0, 12)
	for _, visit := range []uint64{1, 2, 9, 10, 100, 1 << 40} {
		for _, name := range []string{"a", "a/b"} {
			want = append(want, b.intent(t, visit, name))
		}
	}
	for i := range want {
		b.ok(b.ledger.Intend(b.ctx, t.Ref(), want[len(want)-1-i]))
	}
	got, err := b.ledger.EffectList(b.ctx, t.Ref())
	b.ok(err)
	b.is("the records", got, want)
}

func effectTwoCallers(b *bench) {
	t := b.working("holder")
	e := b.intent(t, 1, "pay")
	errs := both(func() error { return b.ledger.Intend(b.ctx, t.Ref(), e) }, func() error { return b.ledger.Intend(b.ctx, t.Ref(), e) }, together)
	if (errs[0] == nil) == (errs[1] == nil) {
		b.Fatalf("two intents at once gave %v and %v, want one to succeed", errs[0], errs[1])
	}
	b.want("the second intent", errors.Join(errs[:]...), ledger.ErrEffectChanged)
}
