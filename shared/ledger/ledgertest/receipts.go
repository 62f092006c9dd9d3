package ledgertest

import (
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var receiptTests = []test{
	{"a receipt is found by producer and event ID", receiptFound},
	{"the receipt carries its first entry's sequence", receiptSeq},
	{"a receipt is never written over (I5)", receiptOnce},
	{"lookup hits are counted beside the head", receiptHits},
}

func receiptFound(b *bench) {
	t := b.working("holder")
	b.ok(b.ledger.Commit(b.ctx, b.loaded(t, "op-1")))
	_, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-1")
	b.ok(err)
	for _, miss := range [][2]string{{"client", "op-2"}, {"runner", "op-1"}, {"", ""}, {"client", ""}, {"", "op-1"}} {
		_, err := b.ledger.Receipt(b.ctx, t.Ref(), miss[0], miss[1])
		b.want("a receipt of nobody", err, ledger.ErrNotFound)
	}
}

func receiptSeq(b *bench) {
	t, err := b.paused(b.ctx)
	b.ok(err)
	digest := lifecycle.DigestBytes([]byte("yes"))
	res, err := b.auth.Do(b.ctx, t, lifecycle.Reply{Message: says("ROLE_USER", "yes"), Grace: grace}, client(),
		ledger.Extra{Receipt: &ledger.Receipt{Producer: "client", EventID: "m-1", Digest: digest}})
	b.ok(err)
	receipt, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "m-1")
	b.ok(err)
	b.is("the receipt", receipt, ledger.Receipt{Producer: "client", EventID: "m-1", Digest: digest, Seq: res.Entries[0].Seq})
}

// receiptOnce: whoever did not see the first answer must not overwrite it.
func receiptOnce(b *bench) {
	t := b.working("holder")
	first := b.loaded(t, "op-1")
	b.ok(b.ledger.Commit(b.ctx, first))
	second := b.drafted(b.task(t.Ref()), "op-2", noted("again"))
	second.Receipts = []ledger.Receipt{first.Receipts[0]}
	second.Receipts[0].Digest, second.Receipts[0].Seq = "another", t.Seq+3
	b.untouched(t.Ref(), "a second receipt for an event", func() {
		if err := b.ledger.Commit(b.ctx, second); err == nil {
			b.Fatal("a second receipt was written for an event")
		}
	})
	receipt, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-1")
	b.ok(err)
	b.is("the receipt", receipt, first.Receipts[0])
}

func receiptHits(b *bench) {
	t := b.working("holder")
	b.ok(b.ledger.Commit(b.ctx, b.loaded(t, "op-1")))
	head := b.head(t.Ref())
	for range 3 {
		b.ok(b.ledger.Hit(b.ctx, t.Ref(), "client", "op-1"))
	}
	b.want("a hit on no receipt", b.ledger.Hit(b.ctx, t.Ref(), "client", "op-2"), ledger.ErrNotFound)
	receipt, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-1")
	b.ok(err)
	b.is("the receipt's hits", receipt.Hits, 3)
	b.is("the head", b.head(t.Ref()), head)
	b.reported(b.task(t.Ref()), progress())
	counts, err := b.ledger.Counts(b.ctx, t.Ref())
	b.ok(err)
	b.is("the counts after one more commit", counts, ledger.Counts{Hits: 3})
}
