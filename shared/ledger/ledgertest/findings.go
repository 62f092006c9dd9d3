package ledgertest

import (
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var findingTests = []test{
	{"what was met is found, the latest first", findingOrder},
	{"what is met again within the spell is counted, later it begins anew", findingSpell},
	{"what was forgotten is not found, and begins anew", findingForgotten},
	{"what was met before an instant is left out", findingSince},
	{"findings are a tenant's own, of one kind, or everybody's (I10)", findingTenants},
	{"a finding on nobody's task is nobody's", findingNobody},
	{"a page says whether there are more", findingPages},
	{"a finding never changes a task", findingApart},
	{"what was met on a task goes with it", findingPurged},
	{"kinds are bounded, and none collides with another", findingKinds},
}

// kind is one that no other test on this ledger knows.
func (b *bench) kind() string { return "kind-" + a2a.NewContextID() }

func (b *bench) meet(ref lifecycle.Ref, kind string) time.Time {
	b.Helper()
	at := lifecycle.Millis(b.clock.Now())
	b.ok(b.ledger.Note(b.ctx, ref, kind, at, time.Hour, 1))
	return at
}

func (b *bench) wantFound(what string, q ledger.FindingQuery, want ...ledger.Finding) {
	b.Helper()
	b.ok(eventually(b.ctx, func() error {
		page, err := b.ledger.Found(b.ctx, q)
		if err != nil {
			return err
		}
		return same(what, page.Findings, want)
	}))
}

func findingOrder(b *bench) {
	kind := b.kind()
	var want []ledger.Finding
	for range 5 {
		ref := b.newRef()
		at := b.meet(ref, kind)
		want = append([]ledger.Finding{{Ref: ref, First: at, Last: at, Count: 1}}, want...)
		b.clock.Advance(time.Minute)
	}
	b.wantFound("all", ledger.FindingQuery{Kind: kind, Tenant: b.tenant}, want...)
	// The first one is met again, and is the latest.
	again := b.meet(want[4].Ref, kind)
	first := ledger.Finding{Ref: want[4].Ref, First: want[4].First, Last: again, Count: 2}
	b.wantFound("with one met again", ledger.FindingQuery{Kind: kind, Tenant: b.tenant, Limit: 10}, append([]ledger.Finding{first}, want[:4]...)...)
}

func findingSpell(b *bench) {
	kind, ref := b.kind(), b.newRef()
	first := b.meet(ref, kind)
	for range 3 {
		b.clock.Advance(time.Hour)
		b.meet(ref, kind)
	}
	last := lifecycle.Millis(b.clock.Now())
	q := ledger.FindingQuery{Kind: kind, Tenant: b.tenant}
	b.wantFound("within the spell", q, ledger.Finding{Ref: ref, First: first, Last: last, Count: 4})
	b.clock.Advance(time.Hour + time.Second)
	anew := b.meet(ref, kind)
	b.wantFound("after it", q, ledger.Finding{Ref: ref, First: anew, Last: anew, Count: 1})
	b.ok(b.ledger.Note(b.ctx, ref, kind, anew, time.Hour, 7))
	b.wantFound("met several times at once", q, ledger.Finding{Ref: ref, First: anew, Last: anew, Count: 8})
	b.clock.Advance(time.Hour + time.Second)
	late := lifecycle.Millis(b.clock.Now())
	b.ok(b.ledger.Note(b.ctx, ref, kind, late, time.Hour, 3))
	b.wantFound("and anew", q, ledger.Finding{Ref: ref, First: late, Last: late, Count: 3})
}

func findingForgotten(b *bench) {
	kind, ref, other := b.kind(), b.newRef(), b.newRef()
	q := ledger.FindingQuery{Kind: kind, Tenant: b.tenant}
	once := func(ref lifecycle.Ref, at time.Time) ledger.Finding {
		return ledger.Finding{Ref: ref, First: at, Last: at, Count: 1}
	}
	b.ok(b.ledger.Forget(b.ctx, once(ref, b.clock.Now()), kind))
	b.wantFound("what was never met", q)
	met := once(ref, b.meet(ref, kind))
	at := b.meet(other, kind)
	b.ok(b.ledger.Forget(b.ctx, met, kind))
	b.ok(b.ledger.Forget(b.ctx, met, kind))
	b.wantFound("the other one", q, once(other, at))
	b.meet(other, kind) // at the same instant
	b.ok(b.ledger.Forget(b.ctx, once(other, at), kind))
	b.clock.Advance(time.Second)
	last := b.meet(other, kind)
	b.ok(b.ledger.Forget(b.ctx, ledger.Finding{Ref: other, First: at, Last: at, Count: 2}, kind))
	thrice := ledger.Finding{Ref: other, First: at, Last: last, Count: 3}
	b.wantFound("what was met since it was found", q, thrice)
	b.ok(b.ledger.Forget(b.ctx, thrice, kind))
	anew := b.meet(ref, kind)
	b.wantFound("met anew", q, ledger.Finding{Ref: ref, First: anew, Last: anew, Count: 1})
}

func findingSince(b *bench) {
	kind, old, young := b.kind(), b.newRef(), b.newRef()
	early := b.meet(old, kind)
	b.clock.Advance(time.Second)
	at := b.meet(young, kind)
	recent := ledger.Finding{Ref: young, First: at, Last: at, Count: 1}
	b.wantFound("since the second", ledger.FindingQuery{Kind: kind, Tenant: b.tenant, Since: at, Limit: 5}, recent)
	b.wantFound("since later", ledger.FindingQuery{Kind: kind, Tenant: b.tenant, Since: at.Add(time.Millisecond)})
	q := ledger.FindingQuery{Kind: kind, Tenant: b.tenant, Since: early}
	b.ok(eventually(b.ctx, func() error { // within a minute they come in any order
		page, err := b.ledger.Found(b.ctx, q)
		if err != nil {
			return err
		}
		return same("since the first", len(page.Findings), 2)
	}))
}

func findingTenants(b *bench) {
	kind, ref := b.kind(), b.newRef()
	foreign := lifecycle.Ref{Tenant: b.tenant + "-b", Task: ref.Task} // begins with the other's name
	at := b.meet(ref, kind)
	b.meet(ref, kind+"-b")
	b.clock.Advance(time.Minute)
	later := b.meet(foreign, kind)
	own, others := ledger.Finding{Ref: ref, First: at, Last: at, Count: 1}, ledger.Finding{Ref: foreign, First: later, Last: later, Count: 1}
	b.wantFound("own", ledger.FindingQuery{Kind: kind, Tenant: b.tenant}, own)
	b.wantFound("the other tenant's", ledger.FindingQuery{Kind: kind, Tenant: foreign.Tenant}, others)
	b.wantFound("everybody's", ledger.FindingQuery{Kind: kind, All: true}, others, own)
	b.wantFound("everybody's, the last ones", ledger.FindingQuery{Kind: kind, All: true, Since: later}, others)
	b.ok(b.ledger.Forget(b.ctx, others, kind))
	b.wantFound("own, when another one's was forgotten", ledger.FindingQuery{Kind: kind, All: true}, own)
}

func findingNobody(b *bench) {
	kind := b.kind()
	at := b.meet(lifecycle.Ref{}, kind)
	nobodys := ledger.Finding{First: at, Last: at, Count: 1}
	b.wantFound("nobody's", ledger.FindingQuery{Kind: kind}, nobodys)
	b.wantFound("everybody's", ledger.FindingQuery{Kind: kind, All: true}, nobodys)
	b.wantFound("somebody's", ledger.FindingQuery{Kind: kind, Tenant: b.tenant})
}

func findingPages(b *bench) {
	kind := b.kind()
	const all = 7
	for range all {
		b.meet(b.newRef(), kind)
		b.clock.Advance(time.Minute)
	}
	for limit := range all + 2 {
		b.ok(eventually(b.ctx, func() error {
			page, err := b.ledger.Found(b.ctx, ledger.FindingQuery{Kind: kind, Tenant: b.tenant, Limit: limit})
			if err != nil {
				return err
			}
			want := limit
			if limit == 0 || limit > all {
				want = all
			}
			if err := same("how many", len(page.Findings), want); err != nil {
				return err
			}
			return same("whether there are more", page.More, want < all)
		}))
	}
}

func findingApart(b *bench) {
	t := b.rich()
	b.untouched(t.Ref(), "finding and forgetting", func() {
		at := b.meet(t.Ref(), "kind")
		b.ok(b.ledger.Forget(b.ctx, ledger.Finding{Ref: t.Ref(), First: at, Last: at, Count: 1}, "kind"))
		b.meet(t.Ref(), "kind")
	})
}

func findingPurged(b *bench) {
	kind, other := b.kind(), b.newRef()
	ref, err := b.full(b.ctx, nil)
	b.ok(err)
	b.meet(ref, kind)
	at := b.meet(other, kind)
	b.clock.Advance(lifecycle.DefaultRetention + time.Hour)
	b.ok(b.purge(b.ctx, ref))
	b.wantFound("the other task's", ledger.FindingQuery{Kind: kind, Tenant: b.tenant}, ledger.Finding{Ref: other, First: at, Last: at, Count: 1})
}

func findingKinds(b *bench) {
	longest := strings.Repeat("k", lifecycle.MaxNameBytes)
	ref := b.newRef()
	b.meet(ref, longest)
	b.want("a longer one", b.ledger.Note(b.ctx, ref, longest+"k", b.clock.Now(), time.Hour, 1), ledger.ErrTooLarge)
	for _, kind := range []string{"", "\xff"} {
		if err := b.ledger.Note(b.ctx, ref, kind, b.clock.Now(), time.Hour, 1); err == nil {
			b.Fatalf("the kind %q is taken", kind)
		}
	}
	kind := b.kind()
	at := b.meet(ref, kind+"#a")
	b.wantFound("another one that begins alike", ledger.FindingQuery{Kind: kind, Tenant: b.tenant})
	b.wantFound("itself", ledger.FindingQuery{Kind: kind + "#a", Tenant: b.tenant}, ledger.Finding{Ref: ref, First: at, Last: at, Count: 1})
}
