package ledgertest

import (
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var leaseTests = []test{
	{"the fence rises with every grant, also to the same holder (I3)", leaseFenceRises},
	{"a stale holder's commit is refused after another grant (I3, case 17)", leaseStale},
	{"the same holder's older lease is refused (I3)", leaseSameHolder},
	{"one holder at a time", leaseHeld},
	{"a lease that ran out is its holder's until the next grant", leaseRanOut},
	{"a renewal changes neither fence nor due time", leaseRenewal},
	{"a release frees the lease and keeps the fence", leaseRelease},
	{"an older generation is refused", leaseGeneration},
}

func (b *bench) renew(t lifecycle.Task) error {
	_, err := b.auth.Do(b.ctx, t, lifecycle.Renew{Holder: t.Holder, Fence: t.Fence, Lease: lease}, runner(t.Holder, t.Fence), ledger.Extra{})
	return err
}

func leaseFenceRises(b *bench) {
	t := b.submitted()
	for want := uint64(1); want <= 5; want++ {
		t = b.granted(t, "holder")
		b.is("the fence", b.head(t.Ref()).Fence, want)
	}
}

func leaseStale(b *bench) {
	stale := b.working("stale")
	b.clock.Advance(lease)
	fresh := b.granted(b.task(stale.Ref()), "fresh")
	b.untouched(stale.Ref(), "a stale holder", func() {
		_, err := b.report(b.ctx, stale, progress())
		b.rejected("its report", err, lifecycle.FenceLost)
		b.rejected("its renewal", b.renew(stale), lifecycle.FenceLost)
		b.conflict("its commit", b.ledger.Commit(b.ctx, b.drafted(stale, "op", noted("stale"))), stale.Ref())
	})
	b.reported(fresh, ending(lifecycle.VerbComplete))
	b.task(stale.Ref())
}

func leaseSameHolder(b *bench) {
	older := b.working("holder")
	younger := b.granted(older, "holder")
	_, err := b.report(b.ctx, older, ending(lifecycle.VerbComplete))
	b.rejected("the older lease's report", err, lifecycle.FenceLost)
	b.reported(younger, ending(lifecycle.VerbComplete))
}

func leaseHeld(b *bench) {
	t := b.working("holder")
	_, err := b.grant(b.ctx, t, "another")
	b.rejected("another holder's grant", err, lifecycle.LeaseHeld)
	b.clock.Advance(lease)
	b.granted(b.task(t.Ref()), "another")
}

func leaseRanOut(b *bench) {
	t := b.working("holder")
	b.clock.Advance(10 * lease)
	b.ok(b.renew(t))
	b.reported(t, progress())
}

func leaseRenewal(b *bench) {
	t := b.working("holder")
	b.clock.Advance(lease / 2)
	b.ok(b.renew(t))
	h := b.head(t.Ref())
	want := t.Head
	want.LeaseUntil, want.Op = want.LeaseUntil.Add(lease/2), h.Op
	b.is("the head", h, want)
}

func leaseRelease(b *bench) {
	t := b.working("holder")
	_, err := b.auth.Do(b.ctx, t, lifecycle.Release{Holder: "holder", Fence: t.Fence, Grace: grace}, runner("holder", t.Fence), ledger.Extra{})
	b.ok(err)
	h := b.head(t.Ref())
	b.is("the holder", h.Holder, "")
	b.is("the fence", h.Fence, t.Fence)
	b.granted(b.task(t.Ref()), "another")
}

func leaseGeneration(b *bench) {
	t := b.submitted()
	_, err := b.auth.Do(b.ctx, t, lifecycle.Restart{Grace: grace}, runner("sweep", 0), ledger.Extra{})
	b.ok(err)
	_, err = b.grant(b.ctx, t, "older execution")
	b.rejected("a grant to the older generation", err, lifecycle.Superseded)
	b.granted(b.task(t.Ref()), "younger execution")
}
