package ledgertest

import (
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var commitTests = []test{
	{"everything of a commit is written together (I1)", commitTogether},
	{"every read sees the commit before it", commitStrongReads},
	{"entries are read in pages", commitPages},
	{"a commit without entries writes the head alone", commitHeadAlone},
	{"an unknown task takes no commit", commitUnknown},
	{"a task without Go's zero values is read back", commitFullHead},
	{"what was handed in or out is the caller's", commitCopies},
	{"the whole life of a task folds to its head (I1, I2)", commitLife},
}

// loaded adds one of everything to a commit of two entries.
func (b *bench) loaded(t lifecycle.Task, op string) ledger.Commit {
	b.Helper()
	chunk := piece("artifact", op, false)
	chunk.Revision, chunk.Number = 1, t.Arts["artifact"].Chunks+1
	c := b.drafted(t, op, noted(op), lifecycle.Event{Type: lifecycle.TypeChunk, Chunk: chunk})
	folded, err := lifecycle.Fold(t.Ref(), append(b.entries(t.Ref()), c.Entries...))
	b.ok(err)
	c.Artifacts = []lifecycle.Artifact{folded.Arts["artifact"]}
	c.Chunks = []ledger.ChunkReceipt{{Artifact: "artifact", Revision: 1, Number: chunk.Number, Checksum: chunk.Checksum, Seq: t.Seq + 2}}
	c.Receipts = []ledger.Receipt{{Producer: "client", EventID: op, Digest: lifecycle.DigestBytes([]byte(op)), Seq: t.Seq + 1}}
	c.Answered = 1
	return c
}

func commitTogether(b *bench) {
	t := b.working("holder")
	c := b.loaded(t, "op-1")
	b.ok(b.ledger.Commit(b.ctx, c))

	b.is("the head", b.head(t.Ref()), c.Head)
	b.is("the entries", b.entries(t.Ref())[t.Seq:], c.Entries)
	f := b.footprint(t.Ref())
	b.is("the artifacts", f.Artifacts, c.Artifacts)
	b.is("the pause", f.Parked, ledger.Parked{Answered: true})
	receipt, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-1")
	b.ok(err)
	b.is("the receipt", receipt, c.Receipts[0])
	b.task(t.Ref())
}

func commitStrongReads(b *bench) {
	t := b.working("holder")
	for i := range 20 {
		op := fmt.Sprintf("op-%d", i)
		c := b.loaded(t, op)
		b.ok(b.ledger.Commit(b.ctx, c))
		b.is("the head", b.head(t.Ref()), c.Head)
		after, err := b.ledger.Entries(b.ctx, t.Ref(), t.Seq, 0)
		b.ok(err)
		b.is("the entries", after, c.Entries)
		if _, err = b.ledger.Receipt(b.ctx, t.Ref(), "client", op); err != nil {
			b.Fatalf("the receipt of %s: %v", op, err)
		}
		t = b.task(t.Ref())
	}
}

func commitPages(b *bench) {
	t := b.working("holder")
	for range 5 {
		t = b.reported(t, progress())
	}
	all := b.entries(t.Ref())
	for limit := range len(all) + 2 {
		for after := range uint64(len(all) + 2) {
			page, err := b.ledger.Entries(b.ctx, t.Ref(), after, limit)
			b.ok(err)
			want := all[min(int(after), len(all)):]
			if limit > 0 {
				want = want[:min(limit, len(want))]
			}
			if len(page)+len(want) > 0 {
				b.is(fmt.Sprintf("entries after %d, at most %d", after, limit), page, want)
			}
		}
	}
}

func commitHeadAlone(b *bench) {
	t := b.working("holder")
	entries := b.entries(t.Ref())
	c := ledger.Commit{Seen: t.Head, Head: t.Head}
	c.Head.LeaseUntil, c.Head.Op = c.Head.LeaseUntil.Add(lease), "op-renewal"
	b.ok(b.ledger.Commit(b.ctx, c))
	b.is("the head", b.head(t.Ref()), c.Head)
	b.is("the entries", b.entries(t.Ref()), entries)
}

func commitUnknown(b *bench) {
	t := b.working("holder")
	ref := b.newRef()
	t.Task = ref.Task
	c := b.drafted(t, "op-1", noted("nobody's"))
	b.want("a commit on an unknown task", b.ledger.Commit(b.ctx, c), ledger.ErrNotFound)
	_, err := b.ledger.Head(b.ctx, ref)
	b.want("its head", err, ledger.ErrNotFound)
	if entries := b.entries(ref); len(entries) > 0 {
		b.Fatalf("an unknown task has %d entries", len(entries))
	}
}

func commitFullHead(b *bench) {
	t := b.working("holder")
	at := lifecycle.Millis(b.clock.Now())
	h := t.Head
	h.NextAt, h.ExpiresAt, h.Attempt, h.Pauses, h.Artifacts, h.Unsealed, h.Untaken, h.Turns = at, at, 3, 2, 5, 1, 4, 7
	h.Challenge = &lifecycle.Challenge{Number: 2, Action: "delete \"all\"\u2028<é>", Audience: "aud", ExpiresAt: at}
	h.Pause = &lifecycle.Pause{Number: 2, DeadlineAt: at, Outcome: lifecycle.Canceled, Named: true, Challenge: h.Challenge}
	h.LeaseSecs, h.PauseSecs, h.FailedSecs, h.CanceledSecs, h.RejectedSecs, h.ExportedSecs, h.AckedAt = 1, 2, 3, 4, 5, 6, at
	h.Step, h.Op = "étape/1#2", "op-1"
	b.ok(b.ledger.Commit(b.ctx, ledger.Commit{Seen: t.Head, Head: h}))
	b.is("the head", b.head(t.Ref()), h)
	b.untouched(t.Ref(), "scribbling on the head that was committed", func() {
		h.Pause.Number, h.Challenge.Action = 99, "another"
	})
}

func commitCopies(b *bench) {
	t := b.working("holder")
	mark := lifecycle.CancelMark{Principal: "principal", At: lifecycle.Millis(b.clock.Now())}
	b.ok(b.ledger.MarkCancel(b.ctx, t.Ref(), mark, t.Fence, "op-mark"))
	b.untouched(t.Ref(), "scribbling on what was read", func() {
		b.head(t.Ref()).Cancel.Principal = "somebody else"
		for _, e := range b.entries(t.Ref()) {
			for i := range e.Payload {
				e.Payload[i] = 'x'
			}
		}
	})
	t = b.working("holder")
	c := b.loaded(t, "op-1")
	b.ok(b.ledger.Commit(b.ctx, c))
	b.untouched(t.Ref(), "scribbling on what was committed", func() {
		for i := range c.Entries[0].Payload {
			c.Entries[0].Payload[i] = 'x'
		}
		c.Artifacts[0].Chunks = 99
	})
}

// commitLife goes through everything that a task can go through, and verifies
// after each commit.
func commitLife(b *bench) {
	t := b.submitted()
	verify := func(next lifecycle.Task) {
		b.Helper()
		b.is("the task that the authority answers", next.Folded(), b.task(t.Ref()).Folded())
		t = next
	}
	verify(b.granted(t, "first"))
	chunks := progress()
	chunks.Updates = append(chunks.Updates,
		lifecycle.Update{Chunk: piece("report", "part one ", false)},
		lifecycle.Update{Chunk: piece("report", "part two ☃", true), Append: true},
		lifecycle.Update{Chunk: piece("table", "a,b", false)})
	verify(b.reported(t, chunks))
	verify(b.reported(t, lifecycle.Report{Verb: lifecycle.VerbContinue, Next: "second", Keep: true, State: []byte(`{"é":"\u2028"}`)}))
	verify(b.reported(t, lifecycle.Report{Verb: lifecycle.VerbRetry, Until: b.clock.Now(), Reason: "again"}))
	verify(b.granted(t, "second"))
	verify(b.reported(t, lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "third", Until: b.clock.Now()}))
	verify(b.granted(t, "second"))
	verify(b.reported(t, pausing(lifecycle.InputRequired)))
	res, err := b.reply(b.ctx, t)
	b.ok(err)
	verify(res.Task)
	verify(b.granted(t, "third"))
	verify(b.reported(t, pausing(lifecycle.AuthRequired)))
	res, err = b.reply(b.ctx, t)
	b.ok(err)
	verify(res.Task)
	receipt := lifecycle.Authorize{Grace: grace, Receipt: lifecycle.ReceiptRef{Challenge: t.Challenge.Number, Issuer: "issuer", JTI: "1"}}
	res, err = b.auth.Do(b.ctx, t, receipt, client(), ledger.Extra{})
	b.ok(err)
	verify(res.Task)
	res, err = b.auth.Do(b.ctx, t, lifecycle.Restart{Grace: grace}, runner("sweep", 0), ledger.Extra{})
	b.ok(err)
	verify(res.Task)
	verify(b.granted(t, "fourth"))
	seal := ending(lifecycle.VerbComplete)
	seal.Updates = []lifecycle.Update{{Chunk: piece("table", "\nc,d", true), Append: true}}
	verify(b.reported(t, seal))

	_, err = b.cancel(b.ctx, t)
	b.rejected("canceling a completed task (I2, case 7)", err, lifecycle.PostTerminal)
	ids := make([]a2a.ArtifactID, 0, 2)
	arts, err := b.ledger.Artifacts(b.ctx, t.Ref())
	b.ok(err)
	for _, a := range arts {
		ids = append(ids, a.ID)
	}
	if !slices.Equal(ids, []a2a.ArtifactID{"report", "table"}) {
		b.Fatalf("artifacts %q, want them by ID", ids)
	}
}
