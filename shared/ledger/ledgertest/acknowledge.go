package ledgertest

import (
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var acknowledgeTests = []test{
	{"it shortens the retention and is no entry (I1, I2)", acknowledgeShortens},
	{"twice is once", acknowledgeTwice},
	{"a policy that says nothing of it keeps its retention", acknowledgeKeeps},
	{"another receipt, a live task, an unknown one and one that has expired", acknowledgeRefused},
	{"a webhook that lacks something is waited for", acknowledgeOwed},
	{"nothing is written on a picture without it", acknowledgeStands},
}

// exportedFor is how long the suite's tasks are kept once their export was acknowledged.
const exportedFor = 2 * time.Hour

// judged is a submission under a policy that says how long exported tasks are kept.
func judged(exported time.Duration) lifecycle.Submit {
	c := submission()
	c.Policy.Terms = &lifecycle.Terms{Digest: lifecycle.DigestBytes([]byte("document")), Seconds: lifecycle.Spans{
		Lease: 45, Pause: 7200, Failed: 259_200, Canceled: 345_600, Rejected: 432_000, Exported: int64(exported / time.Second),
	}}
	return c
}

// endedUnder is a completed task under such a policy.
func (b *bench) endedUnder(exported time.Duration) lifecycle.Task {
	b.Helper()
	t := b.submittedWith(func(c *lifecycle.Submit) { *c = judged(exported) })
	t = b.reported(b.granted(t, "holder"), ending(lifecycle.VerbComplete))
	return b.task(t.Ref())
}

// acknowledged is the head after an acknowledgement, which is what the ledger keeps.
func (b *bench) acknowledged(t lifecycle.Task) lifecycle.Head {
	b.Helper()
	h, err := b.auth.Acknowledge(b.ctx, t.Ref(), t.TerminalReceipt())
	b.ok(err)
	b.is("the head that was answered", h, b.head(t.Ref()))
	return h
}

func acknowledgeShortens(b *bench) {
	t := b.endedUnder(exportedFor)
	entries := b.entries(t.Ref())
	b.clock.Advance(time.Minute)
	at := lifecycle.Millis(b.clock.Now())
	h := b.acknowledged(t)
	b.is("when it was acknowledged", h.AckedAt, at)
	b.is("when it expires", h.ExpiresAt, at.Add(exportedFor))
	b.is("the entries", b.entries(t.Ref()), entries)
	b.task(t.Ref()) // folds to the head
	q := b.query()
	q.Now = h.ExpiresAt.Add(-time.Millisecond)
	b.wantList("before the expiry", q, []lifecycle.Head{h})
	q.Now = h.ExpiresAt
	b.wantList("from the expiry on", q, nil)
	b.wantExpired("before the expiry", h.ExpiresAt.Add(-time.Millisecond), 10)
	b.wantExpired("from the expiry on", h.ExpiresAt, 10, h)
	b.clock.Advance(h.ExpiresAt.Sub(b.clock.Now()) - time.Millisecond)
	b.notExpired("a purge just before the expiry", t.Ref(), h.ExpiresAt)
	b.clock.Advance(time.Millisecond)
	b.ok(b.purge(b.ctx, t.Ref()))
	b.ok(b.nothingOf(b.ctx, t.Ref()))
	_, err := b.auth.Acknowledge(b.ctx, t.Ref(), t.TerminalReceipt())
	b.want("an acknowledgement of a task that was purged", err, ledger.ErrNotFound)
}

func acknowledgeTwice(b *bench) {
	t := b.endedUnder(exportedFor)
	first := b.acknowledged(t)
	b.clock.Advance(time.Hour)
	b.untouched(t.Ref(), "a second acknowledgement", func() { b.is("the second answer", b.acknowledged(t), first) })
}

func acknowledgeKeeps(b *bench) {
	t := b.endedUnder(0)
	b.clock.Advance(time.Minute)
	h := b.acknowledged(t)
	b.is("when it expires", h.ExpiresAt, t.ExpiresAt)
	b.is("when it was acknowledged", h.AckedAt, lifecycle.Millis(b.clock.Now()))
	b.task(t.Ref())
}

func acknowledgeRefused(b *bench) {
	live := b.working("holder")
	t := b.endedUnder(exportedFor)
	unknown := b.newRef()
	foreign := t.Ref()
	foreign.Tenant = "tenant-of-others"
	try := func(ref lifecycle.Ref, receipt lifecycle.TerminalReceipt) error {
		_, err := b.auth.Acknowledge(b.ctx, ref, receipt)
		return err
	}
	b.untouched(live.Ref(), "a live task", func() { b.rejected("a live task", try(live.Ref(), live.TerminalReceipt()), lifecycle.NotDue) })
	b.want("an unknown task", try(unknown, t.TerminalReceipt()), ledger.ErrNotFound)
	b.want("another tenant's", try(foreign, t.TerminalReceipt()), ledger.ErrNotFound)
	wrong := t.TerminalReceipt()
	wrong.Seq--
	b.untouched(t.Ref(), "another receipt", func() {
		b.rejected("another sequence", try(t.Ref(), wrong), lifecycle.ReceiptMismatch)
		b.rejected("another digest", try(t.Ref(), lifecycle.TerminalReceipt{Seq: t.Seq, Chain: live.Chain}), lifecycle.ReceiptMismatch)
	})
	b.clock.Advance(t.ExpiresAt.Sub(b.clock.Now()))
	b.untouched(t.Ref(), "an expired task", func() { b.want("an expired task", try(t.Ref(), t.TerminalReceipt()), ledger.ErrNotFound) })
}

func acknowledgeOwed(b *bench) {
	for name, c := range map[string]struct {
		delivery ledger.Delivery
		owed     bool
	}{
		"has everything":   {ledger.Delivery{Cursor: 3}, false},
		"lacks the end":    {ledger.Delivery{Cursor: 2}, true},
		"is tried again":   {ledger.Delivery{Cursor: 1, Attempt: 3}, true},
		"is given up":      {ledger.Delivery{Cursor: 1, State: ledger.DeliveryGivenUp}, false},
		"takes no more":    {ledger.Delivery{Cursor: 1, State: ledger.DeliveryDisabled}, false},
		"one of two lacks": {ledger.Delivery{Cursor: 2}, true},
	} {
		t := b.endedUnder(exportedFor)
		b.is("the last entry", t.Seq, uint64(3))
		e := b.endpoint("one")
		e.Delivery = c.delivery
		b.put(t.Ref(), e)
		e.ID, e.Delivery = "two", ledger.Delivery{Cursor: 3}
		b.put(t.Ref(), e)
		h, want := b.acknowledged(t), lifecycle.Millis(b.clock.Now()).Add(exportedFor)
		if c.owed {
			want = t.StatusAt.Add(lifecycle.MinRetention)
		}
		b.is("when a task expires whose webhook "+name, h.ExpiresAt, want)
		b.task(t.Ref())
	}
}

func acknowledgeStands(b *bench) {
	t := b.endedUnder(exportedFor)
	late, err := lifecycle.Acknowledge(t.Head, t.TerminalReceipt(), false, b.clock.Now().Add(time.Hour))
	b.ok(err)
	late.Op = "op-late"
	early := ledger.Commit{Seen: late, Head: late}
	b.untouched(t.Ref(), "a commit on a picture with an acknowledgement that there is not", func() {
		b.conflict("it", b.ledger.Commit(b.ctx, early), t.Ref())
	})
	b.acknowledged(t)
	b.untouched(t.Ref(), "an acknowledgement on the picture before another one", func() {
		b.conflict("it", b.ledger.Commit(b.ctx, ledger.Commit{Seen: t.Head, Head: late}), t.Ref())
	})
}
