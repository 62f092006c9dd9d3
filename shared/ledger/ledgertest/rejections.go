package ledgertest

import (
	"strconv"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var rejectionTests = []test{
	{"a rejection is kept beside the task, also after its end (I2)", rejectionKept},
	{"conflicting content counts as an incident (I6)", rejectionIncident},
	{"rejections are capped, their count is not", rejectionCap},
	{"counters are untouched by a commit", rejectionCountsStay},
}

func (b *bench) refused(i int, reason lifecycle.Reason) ledger.Rejected {
	return ledger.Rejected{At: lifecycle.Millis(b.clock.Now()), Producer: "client", EventID: "m-" + strconv.Itoa(i), Reason: reason, Detail: "because", Fence: 3}
}

func rejectionKept(b *bench) {
	t := b.working("holder")
	running := b.refused(1, lifecycle.IllegalTransition)
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), running))
	t = b.reported(t, ending(lifecycle.VerbComplete))
	late := b.refused(2, lifecycle.PostTerminal)
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), late))
	kept, err := b.ledger.Rejections(b.ctx, t.Ref())
	b.ok(err)
	b.is("the rejections, oldest first", kept, []ledger.Rejected{running, late})
	b.is("the head", b.head(t.Ref()), t.Head)
	b.task(t.Ref())
}

func rejectionIncident(b *bench) {
	t := b.working("holder")
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(1, lifecycle.ConflictingContent)))
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(2, lifecycle.FenceLost)))
	counts, err := b.ledger.Counts(b.ctx, t.Ref())
	b.ok(err)
	b.is("the counts", counts, ledger.Counts{Rejections: 2, Incidents: 1})
}

func rejectionCap(b *bench) {
	t := b.working("holder")
	const more = 5
	for i := range lifecycle.MaxRejections + more {
		b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(i, lifecycle.PostTerminal)))
	}
	kept, err := b.ledger.Rejections(b.ctx, t.Ref())
	b.ok(err)
	b.is("how many are kept", len(kept), lifecycle.MaxRejections)
	for i, r := range kept {
		b.is("the oldest stay, in order", r, b.refused(i, lifecycle.PostTerminal))
	}
	counts, err := b.ledger.Counts(b.ctx, t.Ref())
	b.ok(err)
	b.is("the counts", counts, ledger.Counts{Rejections: lifecycle.MaxRejections + more})
}

func rejectionCountsStay(b *bench) {
	t := b.working("holder")
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(1, lifecycle.ConflictingContent)))
	b.is("the head", b.head(t.Ref()), t.Head)
	b.is("the guard does not see it", b.reported(t, progress()).Seq, t.Seq+1)
	b.reported(b.task(t.Ref()), ending(lifecycle.VerbFail))
	counts, err := b.ledger.Counts(b.ctx, t.Ref())
	b.ok(err)
	b.is("the counts", counts, ledger.Counts{Rejections: 1, Incidents: 1})
}
