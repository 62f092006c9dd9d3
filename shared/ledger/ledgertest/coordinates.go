package ledgertest

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var coordinateTests = []test{
	{"what stands at a coordinate is read", coordinateRead},
	{"a chunk that stands there is a hit, under whatever event ID (I6)", coordinateAgain},
	{"a chunk that stands there is a hit for whoever brings it", coordinateOther},
	{"other bytes at a coordinate are an incident (I6)", coordinateIncident},
	{"a chunk that is ahead is a gap, and not remembered", coordinateGap},
	{"a mark moves on with a receipt alone", coordinateMark},
}

// named is a worker's report of chunks of artifact "out" that say where they stand, from
// a number of revision 1.
func named(fence uint64, number int, texts ...string) lifecycle.Report {
	r := lifecycle.Report{Holder: worker, Fence: fence, Verb: lifecycle.VerbProgress, Grace: grace}
	for i, text := range texts {
		c := piece("out", text, false)
		c.Revision, c.Number = 1, number+i
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: c, Named: true})
	}
	return r
}

func coordinateRead(b *bench) {
	t := b.held()
	b.taken(t.Ref(), named(1, 1, "a", "b"), tell(1, "one"))
	for number, text := range []string{1: "a", 2: "b"} {
		if number == 0 {
			continue
		}
		k, err := b.ledger.Chunk(b.ctx, t.Ref(), "out", 1, number)
		b.ok(err)
		b.is("the chunk", k, ledger.ChunkReceipt{Artifact: "out", Revision: 1, Number: number, Checksum: lifecycle.DigestBytes([]byte(text)), Seq: t.Seq + uint64(number)})
	}
	for _, at := range []struct {
		ref      lifecycle.Ref
		artifact a2a.ArtifactID
		revision int
		number   int
	}{{t.Ref(), "out", 1, 3}, {t.Ref(), "out", 2, 1}, {t.Ref(), "ou", 1, 1}, {t.Ref(), "OUT", 1, 1}, {b.newRef(), "out", 1, 1}, {lifecycle.Ref{Tenant: "another", Task: t.Task}, "out", 1, 1}} {
		_, err := b.ledger.Chunk(b.ctx, at.ref, at.artifact, at.revision, at.number)
		b.want(fmt.Sprintf("chunk %+v", at), err, ledger.ErrNotFound)
	}
}

// coordinateAgain: a report whose answer was lost comes again under another name, in its
// old place or in the next one, alone or with something new.
func coordinateAgain(b *bench) {
	t := b.held()
	first := b.taken(t.Ref(), named(1, 1, "a", "b"), tell(1, "one"))
	again := b.taken(t.Ref(), named(1, 1, "a", "b"), tell(1, "one, renamed"))
	b.is("the sequence", []uint64{again.Receipt.Seq, again.Receipt.Fence}, []uint64{first.Receipt.Seq, 1})
	b.is("it was there", []any{again.Repeated, again.Receipt.Hits}, []any{true, 1})
	b.is("the mark", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 1, EventID: "one"})
	_, err := b.ledger.Receipt(b.ctx, t.Ref(), worker, "one, renamed")
	b.want("the receipt of what wrote nothing", err, ledger.ErrNotFound)

	next := b.taken(t.Ref(), named(1, 2, "b"), tell(2, "two")) // the second chunk: its event begins one entry before
	b.is("the sequence in the next place", next.Receipt.Seq, first.Receipt.Seq)
	b.is("it was there again", []any{next.Repeated, next.Receipt.Hits}, []any{true, 2})
	b.is("the mark in the next place", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 2, EventID: "two"})
	b.is("the first receipt", b.receipt(t.Ref(), "one").Hits, 2)
	same := b.taken(t.Ref(), named(1, 2, "b"), tell(2, "two"))
	b.is("the same event again", []any{same.Repeated, same.Receipt.Seq, same.Receipt.Hits}, []any{true, first.Receipt.Seq, 1})
	b.is("the entries", len(b.entries(t.Ref())), 4)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Hits: 3})

	more := b.taken(t.Ref(), named(1, 2, "b", "c"), tell(3, "three"))
	b.is("with something new", []any{more.Repeated, len(more.Entries), more.Receipt.Seq}, []any{false, 1, 5})
	b.is("the artifact", b.task(t.Ref()).Arts["out"].Chunks, 3)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Hits: 3})
}

func coordinateOther(b *bench) {
	t := b.held()
	first := b.taken(t.Ref(), named(1, 1, "a"), tell(1, "one"))
	b.taken(t.Ref(), lifecycle.Release{Holder: worker, Fence: 1, Grace: grace}, tell(0, "release"))
	fence := b.taken(t.Ref(), claim("another"), sent{"another", "claim", 0, "claim"}).Task.Fence
	r := named(fence, 1, "a")
	r.Holder = "another"
	again := b.taken(t.Ref(), r, sent{"another", "mine", 1, "mine"})
	b.is("the sequence", []any{again.Repeated, again.Receipt.Seq, again.Receipt.Fence}, []any{true, first.Receipt.Seq, fence})
	b.is("the mark", b.mark(t.Ref(), "another").Seq, 1)
	r = named(fence, 2, "b")
	r.Holder = "another"
	b.taken(t.Ref(), r, sent{"another", "next", 2, "next"}) // its count has gone on
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Hits: 1})
}

func coordinateIncident(b *bench) {
	t := b.held()
	b.taken(t.Ref(), named(1, 1, "a"), tell(1, "one"))
	before := b.head(t.Ref())
	for i, seq := range []uint64{1, 2, 3} { // passed, in its place, ahead
		event := fmt.Sprintf("other %d", i)
		for range 2 {
			_, err := b.take(b.ctx, t.Ref(), named(1, 1, "A"), tell(seq, event))
			b.rejected("other bytes", err, lifecycle.ConflictingContent)
		}
	}
	b.is("the head", b.head(t.Ref()), before)
	b.is("the mark", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 1, EventID: "one"})
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: 3, Incidents: 3, Hits: 3})
	kept, err := b.ledger.Rejections(b.ctx, t.Ref())
	b.ok(err)
	b.is("what is kept", []any{len(kept), kept[0].EventID, kept[0].Reason}, []any{3, "other 0", lifecycle.ConflictingContent})
	k, err := b.ledger.Chunk(b.ctx, t.Ref(), "out", 1, 1)
	b.ok(err)
	b.is("the bytes", k.Checksum, lifecycle.DigestBytes([]byte("a")))
}

func coordinateGap(b *bench) {
	t := b.held()
	for range 2 {
		_, err := b.take(b.ctx, t.Ref(), named(1, 2, "b"), tell(1, "early"))
		b.rejected("a chunk ahead", err, lifecycle.CoordinateGap)
	}
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{})
	b.taken(t.Ref(), named(1, 1, "a"), tell(1, "one"))
	_, err := b.take(b.ctx, t.Ref(), named(1, 2, "b"), tell(1, "early"))
	b.rejected("in a place that was passed", err, lifecycle.StaleSequence)
	b.taken(t.Ref(), named(1, 2, "b"), tell(2, "in time"))
}

// coordinateMark: what was repeated has no entries, and the count moves on with its
// receipt, in one transaction.
func coordinateMark(b *bench) {
	t := b.held()
	moved := func(op string, seq uint64) ledger.Commit {
		c := b.drafted(b.task(t.Ref()), op)
		c.Producer = &ledger.ProducerMark{Producer: worker, Seq: seq, EventID: op}
		c.Receipts = []ledger.Receipt{{Producer: worker, EventID: op, Digest: "d", Seq: 1, Fence: 1, Op: op}}
		return c
	}
	b.untouched(t.Ref(), "a mark that skips one", func() { b.conflict("skipping", b.ledger.Commit(b.ctx, moved("op-1", 2)), t.Ref()) })
	_, err := b.ledger.Receipt(b.ctx, t.Ref(), worker, "op-1")
	b.want("the receipt of a mark that skips one", err, ledger.ErrNotFound)
	b.ok(b.ledger.Commit(b.ctx, moved("op-2", 1)))
	b.is("the mark", b.mark(t.Ref(), worker), ledger.ProducerMark{Producer: worker, Seq: 1, EventID: "op-2"})
	b.is("the receipt", b.receipt(t.Ref(), "op-2").Seq, 1)
	b.is("the entries", len(b.entries(t.Ref())), 2)
}

// sameBytes brings one chunk at once under two names, in one place of the count: one is
// written, and the other is a hit with its sequence.
var sameBytes = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was written", "the second was written"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		var taken [2]ledger.Taken
		errs := both(
			func() (err error) {
				taken[0], err = d.take(ctx, t.Ref(), named(1, 1, "a"), tell(1, "first"))
				return err
			},
			func() (err error) {
				taken[1], err = d.take(ctx, t.Ref(), named(1, 1, "a"), tell(1, "second"))
				return err
			}, s)
		if errs[0] != nil || errs[1] != nil || taken[0].Repeated == taken[1].Repeated || taken[0].Receipt.Seq != taken[1].Receipt.Seq {
			return "", fmt.Errorf("the first was told %w and %+v, the second %w and %+v", errs[0], taken[0].Receipt, errs[1], taken[1].Receipt)
		}
		outcome := "the first was written"
		if taken[0].Repeated {
			outcome = "the second was written"
		}
		return outcome, d.wrote(ctx, t, 1, ledger.Counts{Hits: 1})
	},
}

// otherBytes brings two chunks for one coordinate at once: one is written, and the other
// is an incident.
var otherBytes = contest{
	rounds:   raceRounds,
	outcomes: []string{"the first was written", "the second was written"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		errs := both(
			func() error { _, err := d.take(ctx, t.Ref(), named(1, 1, "a"), tell(1, "first")); return err },
			func() error { _, err := d.take(ctx, t.Ref(), named(1, 1, "b"), tell(1, "second")); return err }, s)
		outcome, text, lost := "the first was written", "a", errs[1]
		if errs[1] == nil {
			outcome, text, lost = "the second was written", "b", errs[0]
		}
		if (errs[0] == nil) == (errs[1] == nil) || !lifecycle.RejectedFor(lost, lifecycle.ConflictingContent) {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		k, err := d.ledger.Chunk(ctx, t.Ref(), "out", 1, 1)
		if err != nil {
			return "", err
		}
		if err := same("the bytes", k.Checksum, lifecycle.DigestBytes([]byte(text))); err != nil {
			return "", err
		}
		return outcome, d.wrote(ctx, t, 1, ledger.Counts{Rejections: 1, Incidents: 1})
	},
}

// againAndNext brings a chunk again, in the next place of the count, while the report
// behind it is on its way: a count that moves on without entries is one for everybody.
var againAndNext = contest{
	rounds:   raceRounds,
	outcomes: []string{"the gap was refused", "it was filled in time"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		t, err := d.claimed(ctx)
		if err != nil {
			return "", err
		}
		if _, err := d.take(ctx, t.Ref(), named(1, 1, "a"), tell(1, "one")); err != nil {
			return "", err
		}
		next := func() error { _, err := d.take(ctx, t.Ref(), named(1, 2, "b"), tell(3, "three")); return err }
		errs := both(func() error { _, err := d.take(ctx, t.Ref(), named(1, 1, "a"), tell(2, "two")); return err }, next, s)
		outcome := "it was filled in time"
		if lifecycle.RejectedFor(errs[1], lifecycle.SequenceGap) {
			outcome, errs[1] = "the gap was refused", next()
		}
		if errs[0] != nil || errs[1] != nil {
			return "", fmt.Errorf("the first was told %w, the second %w", errs[0], errs[1])
		}
		return outcome, d.wrote(ctx, t, 2, ledger.Counts{Hits: 1})
	},
}
