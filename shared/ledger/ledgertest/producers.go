package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var producerTests = []test{
	{"a worker claims, reports and completes", producerLife},
	{"a mark moves on by one, with entries", producerMark},
	{"marks of producers and tasks stay apart", producersApart},
	{"the same report again is the first receipt and a hit", producerAgain},
	{"other bytes under an event ID are an incident (I6)", producerIncident},
	{"what was passed is stale, and stays so", producerStale},
	{"a gap is refused and not remembered", producerGap},
	{"a lost fence is remembered, also under the next one (I3)", producerFence},
	{"the same claim again is the same fence", producerClaim},
	{"a refused claim or renewal leaves nothing", producerUnkept},
	{"a refusal under an answered event counts nothing", refusedOnce},
	{"refusals are capped, their count is not", refusedCap},
	{"a receipt that is there is told from a conflict", receiptTold},
}

// worker is an outside producer.
const worker = "worker"

// sent is an event of a worker.
type sent struct {
	producer, event string
	seq             uint64
	payload         string
}

// take brings a command of a worker to a task.
func (d *desk) take(ctx context.Context, ref lifecycle.Ref, cmd lifecycle.Command, s sent) (ledger.Taken, error) {
	src := lifecycle.Source{Producer: s.producer, EventID: s.event, Seq: s.seq, Holder: s.producer}
	switch c := cmd.(type) {
	case lifecycle.Report:
		src.Fence = c.Fence
	case lifecycle.Release:
		src.Fence = c.Fence
	}
	payload, err := json.Marshal(s.payload)
	if err != nil {
		return ledger.Taken{}, err
	}
	return d.auth.Take(ctx, ref, cmd, src, ledger.Sent{Payload: payload, Digest: lifecycle.DigestBytes(payload)})
}

// claim is a worker's request for the lease of a task as it is submitted.
func claim(producer string) lifecycle.Grant {
	return lifecycle.Grant{Holder: producer, Generation: 1, Lease: lease, Grace: grace}
}

// told is a worker's progress message, under a fence.
func told(fence uint64) lifecycle.Report {
	return lifecycle.Report{
		Holder: worker, Fence: fence, Verb: lifecycle.VerbProgress, Grace: grace,
		Updates: []lifecycle.Update{{Message: says(a2a.MessageRoleAgent, "on it")}},
	}
}

func tell(seq uint64, event string) sent { return sent{worker, event, seq, event} }

// claimed is a task that the worker has claimed.
func (d *desk) claimed(ctx context.Context) (lifecycle.Task, error) {
	t, err := d.submit(ctx)
	if err != nil {
		return t, err
	}
	taken, err := d.take(ctx, t.Ref(), claim(worker), sent{worker, "claim", 0, "claim"})
	return taken.Task, err
}

func (b *bench) held() lifecycle.Task {
	b.Helper()
	t, err := b.claimed(b.ctx)
	b.ok(err)
	return t
}

func (b *bench) taken(ref lifecycle.Ref, cmd lifecycle.Command, s sent) ledger.Taken {
	b.Helper()
	taken, err := b.take(b.ctx, ref, cmd, s)
	if err != nil {
		b.Fatalf("event %q: %v", s.event, err)
	}
	return taken
}

func (b *bench) mark(ref lifecycle.Ref, producer string) ledger.ProducerMark {
	b.Helper()
	m, err := b.ledger.Producer(b.ctx, ref, producer)
	b.ok(err)
	return m
}

func (b *bench) counts(ref lifecycle.Ref) ledger.Counts {
	b.Helper()
	counts, err := b.ledger.Counts(b.ctx, ref)
	b.ok(err)
	return counts
}

func producerLife(b *bench) {
	t := b.held()
	b.is("the claim's receipt", b.receipt(t.Ref(), "claim").Fence, 1)
	b.is("the mark after the claim", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker})
	first := b.taken(t.Ref(), told(1), tell(1, "one"))
	e := first.Entries[0]
	b.is("the entry's source", []any{e.Producer, e.EventID, e.SourceSeq, e.Holder, e.Fence}, []any{worker, "one", 1, worker, 1})
	b.is("the receipt", *first.Receipt, b.receipt(t.Ref(), "one"))
	b.is("its sequence and fence", []uint64{first.Receipt.Seq, first.Receipt.Fence}, []uint64{e.Seq, 1})
	b.is("the mark", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 1, EventID: "one"})
	r := told(1)
	r.Updates = []lifecycle.Update{{Chunk: piece("out", "a", false)}, {Chunk: piece("out", "b", true), Append: true}}
	b.taken(t.Ref(), r, tell(2, "two"))
	b.taken(t.Ref(), lifecycle.Renew{Holder: worker, Fence: 1, Lease: lease, Grace: grace}, tell(0, ""))
	end := b.taken(t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbComplete}, tell(3, "three"))
	b.is("the state", end.Task.State, lifecycle.Completed)
	after := b.task(t.Ref())
	b.is("the artifact", after.Arts["out"].Sealed, true)
	b.is("the mark at the end", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 3, EventID: "three"})
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{})
}

func (b *bench) receipt(ref lifecycle.Ref, event string) ledger.Receipt {
	b.Helper()
	r, err := b.ledger.Receipt(b.ctx, ref, worker, event)
	b.ok(err)
	return r
}

// producerMark: the ledger compares and sets, whatever its caller has decided.
func producerMark(b *bench) {
	t := b.held()
	moved := func(op string, seq uint64) ledger.Commit {
		c := b.drafted(b.task(t.Ref()), op, noted("x"))
		c.Producer = &ledger.ProducerMark{Producer: worker, Seq: seq, EventID: op}
		return c
	}
	b.untouched(t.Ref(), "a mark that skips one", func() { b.conflict("skipping", b.ledger.Commit(b.ctx, moved("op-1", 2)), t.Ref()) })
	b.ok(b.ledger.Commit(b.ctx, moved("op-2", 1)))
	b.untouched(t.Ref(), "a mark that stays", func() { b.conflict("staying", b.ledger.Commit(b.ctx, moved("op-3", 1)), t.Ref()) })
	b.ok(b.ledger.Commit(b.ctx, moved("op-4", 2)))
	b.untouched(t.Ref(), "a mark that goes back", func() { b.conflict("going back", b.ledger.Commit(b.ctx, moved("op-5", 1)), t.Ref()) })
	alone := b.drafted(b.task(t.Ref()), "op-6")
	alone.Producer = &ledger.ProducerMark{Producer: worker, Seq: 3, EventID: "e"}
	b.refusedWhole(t, "a mark without entries", alone)
	b.is("the mark", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 2, EventID: "op-4"})
}

func producersApart(b *bench) {
	t, other := b.held(), b.held()
	b.taken(t.Ref(), told(1), tell(1, "one"))
	b.is("another task's mark", b.mark(other.Ref(), worker), ledger.ProducerMark{Producer: worker})
	b.is("another producer's mark", b.mark(t.Ref(), "another"), ledger.ProducerMark{Producer: "another"})
	b.is("the mark of an unknown task", b.mark(b.newRef(), worker), ledger.ProducerMark{Producer: worker})
	b.taken(t.Ref(), lifecycle.Release{Holder: worker, Fence: 1, Grace: grace}, tell(0, "release"))
	taken := b.taken(t.Ref(), claim("another"), sent{"another", "claim", 0, "claim"})
	r := told(taken.Task.Fence)
	r.Holder = "another"
	b.taken(t.Ref(), r, sent{"another", "one", 1, "one"}) // its own count, and its own event IDs
	b.is("the first producer's mark", b.mark(t.Ref(), worker).Seq, 1)
}

func producerAgain(b *bench) {
	t := b.held()
	first := b.taken(t.Ref(), told(1), tell(1, "one"))
	b.taken(t.Ref(), told(1), tell(2, "two"))
	for hits := range 3 {
		again := b.taken(t.Ref(), told(1), tell(1, "one"))
		want := *first.Receipt
		want.Hits = hits + 1
		b.is("the receipt", *again.Receipt, want)
		b.is("it was there", again.Repeated, true)
		b.is("the task as it is now", again.Task.Head, b.head(t.Ref()))
	}
	b.is("the entries", len(b.entries(t.Ref())), 4)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Hits: 3})
}

func producerIncident(b *bench) {
	t := b.held()
	b.taken(t.Ref(), told(1), tell(1, "one"))
	_, err := b.take(b.ctx, t.Ref(), told(1), sent{worker, "one", 2, "other bytes"})
	b.rejected("other bytes", err, lifecycle.ConflictingContent)
	b.is("the entries", len(b.entries(t.Ref())), 3)
	b.is("the mark", b.mark(t.Ref(), worker).Seq, 1)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: 1, Incidents: 1})
	b.taken(t.Ref(), told(1), tell(1, "one"))
}

func producerStale(b *bench) {
	t := b.held()
	b.taken(t.Ref(), told(1), tell(1, "one"))
	for range 2 {
		_, err := b.take(b.ctx, t.Ref(), told(1), tell(1, "another one"))
		b.rejected("a passed sequence", err, lifecycle.StaleSequence)
	}
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: 1, Hits: 1})
	_, err := b.take(b.ctx, t.Ref(), told(1), tell(2, "another one"))
	b.rejected("a refused event under a new sequence", err, lifecycle.StaleSequence)
	b.is("the entries", len(b.entries(t.Ref())), 3)
}

func producerGap(b *bench) {
	t := b.held()
	b.untouched(t.Ref(), "a gap", func() {
		_, err := b.take(b.ctx, t.Ref(), told(1), tell(2, "two"))
		b.rejected("a gap", err, lifecycle.SequenceGap)
	})
	b.taken(t.Ref(), told(1), tell(1, "one"))
	b.is("accepted when it follows", b.taken(t.Ref(), told(1), tell(2, "two")).Repeated, false)
}

func producerFence(b *bench) {
	t := b.held()
	b.taken(t.Ref(), claim(worker), tell(0, "claim again"))
	for _, fence := range []uint64{1, 2} {
		_, err := b.take(b.ctx, t.Ref(), told(fence), tell(1, "one"))
		b.rejected("an event that lost its fence", err, lifecycle.FenceLost)
	}
	b.is("the receipt's fence", b.receipt(t.Ref(), "one").Fence, 1)
	b.taken(t.Ref(), told(2), tell(1, "one, anew"))
	kept, err := b.ledger.Rejections(b.ctx, t.Ref())
	b.ok(err)
	b.is("how many are kept", len(kept), 1)
	b.is("what is kept", []any{kept[0].Producer, kept[0].EventID, kept[0].Reason, kept[0].Fence}, []any{worker, "one", lifecycle.FenceLost, 1})
}

func producerClaim(b *bench) {
	t := b.held()
	again := b.taken(t.Ref(), claim(worker), tell(0, "claim"))
	b.is("the first fence", again.Receipt.Fence, 1)
	second := b.taken(t.Ref(), claim(worker), tell(0, "claim 2")) // writes no entry
	b.is("the next fence", []uint64{second.Receipt.Fence, second.Receipt.Seq}, []uint64{2, 2})
	b.is("again", b.taken(t.Ref(), claim(worker), tell(0, "claim 2")).Receipt.Fence, 2)
	b.is("the fence", b.head(t.Ref()).Fence, 2)
}

func producerUnkept(b *bench) {
	t := b.held()
	b.untouched(t.Ref(), "refused claims and renewals", func() {
		_, err := b.take(b.ctx, t.Ref(), claim("another"), sent{"another", "claim", 0, "claim"})
		b.rejected("a claim of what is held", err, lifecycle.LeaseHeld)
		_, err = b.take(b.ctx, t.Ref(), lifecycle.Renew{Holder: worker, Fence: 9, Lease: lease}, tell(0, "renew"))
		b.rejected("a renewal without the fence", err, lifecycle.FenceLost)
	})
}

func (b *bench) refusal(i int, reason lifecycle.Reason) ledger.Refusal {
	r := b.refused(i, reason)
	r.Producer = worker
	return ledger.Refusal{Rejected: r, Receipt: ledger.Receipt{
		Producer: worker, EventID: r.EventID, Digest: lifecycle.DigestBytes([]byte(r.EventID)), Fence: r.Fence, Reason: reason, Detail: r.Detail, Op: "op-" + strconv.Itoa(i),
	}}
}

func (b *bench) receiptKnown(what string, err error, want ledger.Receipt) {
	b.Helper()
	known, is := errors.AsType[*ledger.ReceiptKnown](err)
	if !is {
		b.Fatalf("%s: error %v, want ReceiptKnown", what, err)
	}
	b.is(what+": the first answer", known.Receipt, want)
}

func refusedOnce(b *bench) {
	t := b.held()
	first := b.refusal(1, lifecycle.FenceLost)
	b.ok(b.ledger.Refuse(b.ctx, t.Ref(), first))
	b.is("the receipt", b.receipt(t.Ref(), "m-1"), first.Receipt)
	b.is("the head", b.head(t.Ref()), t.Head)
	accepted := b.taken(t.Ref(), told(1), tell(1, "one"))
	b.untouched(t.Ref(), "refusals of answered events", func() {
		b.receiptKnown("a second refusal", b.ledger.Refuse(b.ctx, t.Ref(), b.refusal(1, lifecycle.StaleSequence)), first.Receipt)
		second := b.refusal(2, lifecycle.StaleSequence)
		second.Receipt.EventID = "one"
		b.receiptKnown("a refusal of what was accepted", b.ledger.Refuse(b.ctx, t.Ref(), second), *accepted.Receipt)
	})
	b.want("a refusal on no task", b.ledger.Refuse(b.ctx, b.newRef(), b.refusal(3, lifecycle.FenceLost)), ledger.ErrNotFound)
}

func refusedCap(b *bench) {
	t := b.held()
	const more = 3
	for i := range lifecycle.MaxRejections + more {
		b.ok(b.ledger.Refuse(b.ctx, t.Ref(), b.refusal(i, lifecycle.StaleSequence)))
	}
	kept, err := b.ledger.Rejections(b.ctx, t.Ref())
	b.ok(err)
	b.is("how many are kept", len(kept), lifecycle.MaxRejections)
	b.is("the last one", kept[lifecycle.MaxRejections-1].EventID, fmt.Sprintf("m-%d", lifecycle.MaxRejections-1))
	_, err = b.ledger.Receipt(b.ctx, t.Ref(), worker, fmt.Sprintf("m-%d", lifecycle.MaxRejections))
	b.want("the receipt of one beyond the cap", err, ledger.ErrNotFound)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: lifecycle.MaxRejections + more})
}

// receiptTold: the head stands, so there is nothing to decide again.
func receiptTold(b *bench) {
	t := b.held()
	first := b.refusal(1, lifecycle.FenceLost)
	b.ok(b.ledger.Refuse(b.ctx, t.Ref(), first))
	c := b.drafted(b.task(t.Ref()), "op-9", noted("x"))
	c.Receipts = []ledger.Receipt{{Producer: worker, EventID: "m-1", Digest: "another", Seq: t.Seq + 1}}
	b.untouched(t.Ref(), "a receipt for a refused event", func() {
		b.receiptKnown("a receipt for a refused event", b.ledger.Commit(b.ctx, c), first.Receipt)
	})
	b.clock.Advance(time.Second)
	b.taken(t.Ref(), told(1), tell(1, "one"))
}
