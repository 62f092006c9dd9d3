package ledgertest

import (
	"errors"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var limitTests = []test{
	{"the largest commit that the rules allow is taken", limitLargest},
	{"more than 100 items are refused", limitItems},
	{"an item above 400 KB is refused", limitItemBytes},
	{"a transaction above 4 MB is refused", limitAllBytes},
	{"a creation has the same limits and claims no key", limitCreate},
}

// tooLarge wants a write refused for good: not as a conflict, and not as
// something to try again.
func (b *bench) tooLarge(what string, err error) {
	b.Helper()
	_, conflict := errors.AsType[*ledger.Conflict](err)
	if err == nil || conflict || errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrNotFound) {
		b.Fatalf("%s: error %v, want it refused for good", what, err)
	}
}

func (b *bench) refusedWhole(t lifecycle.Task, what string, c ledger.Commit) {
	b.Helper()
	b.untouched(t.Ref(), what, func() { b.tooLarge(what, b.ledger.Commit(b.ctx, c)) })
}

// sized is an event of about so many bytes.
func sized(n int) lifecycle.Event { return noted(strings.Repeat("x", n)) }

// limitLargest: 40 chunks of 8 artifacts, progress messages, a request to
// cancel and the end.
func limitLargest(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	r := ending(lifecycle.VerbComplete)
	for i := range lifecycle.MaxChunksPerCommit {
		n := i / lifecycle.MaxArtifactsPerCommit
		id := a2a.ArtifactID("artifact-" + strconv.Itoa(i%lifecycle.MaxArtifactsPerCommit))
		last := n == lifecycle.MaxChunksPerCommit/lifecycle.MaxArtifactsPerCommit-1
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: piece(id, strings.Repeat("x", lifecycle.MaxInlineBytes), last), Append: n > 0})
	}
	for len(r.Updates) < lifecycle.MaxEntriesPerCommit-2 {
		r.Updates = append(r.Updates, lifecycle.Update{Message: says(a2a.MessageRoleAgent, "on it")})
	}
	b.reported(t, r)
	b.is("the entries", len(b.entries(t.Ref())), 2+lifecycle.MaxEntriesPerCommit)
	b.is("the state", b.task(t.Ref()).State, lifecycle.Completed)
}

func limitItems(b *bench) {
	t := b.working("holder")
	events := make([]lifecycle.Event, 0, 101)
	for range 101 {
		events = append(events, noted("x"))
	}
	b.refusedWhole(t, "101 entries", b.drafted(t, "op-1", events...))
	c := b.drafted(t, "op-2", events[:50]...)
	for i := range 55 {
		c.Chunks = append(c.Chunks, ledger.ChunkReceipt{Artifact: "artifact", Revision: 1, Number: i + 1, Checksum: "checksum", Seq: t.Seq + 1})
	}
	b.refusedWhole(t, "50 entries and 55 chunks", c)
	c.Chunks = c.Chunks[:40]
	b.ok(b.ledger.Commit(b.ctx, c))
	b.task(t.Ref())
}

func limitItemBytes(b *bench) {
	t := b.working("holder")
	b.refusedWhole(t, "an entry of 410 KB", b.drafted(t, "op-1", noted("small"), sized(410_000)))
	b.ok(b.ledger.Commit(b.ctx, b.drafted(t, "op-2", sized(380_000))))
	b.task(t.Ref())
}

func limitAllBytes(b *bench) {
	t := b.working("holder")
	events := make([]lifecycle.Event, 0, 11)
	for range 11 {
		events = append(events, sized(380_000))
	}
	b.refusedWhole(t, "11 entries of 380 KB", b.drafted(t, "op-1", events...))
	b.ok(b.ledger.Commit(b.ctx, b.drafted(t, "op-2", events[:9]...)))
	b.task(t.Ref())
}

func limitCreate(b *bench) {
	ref, key := b.newRef(), b.newKey("k")
	cmd := submission()
	cmd.Message = says(a2a.MessageRoleUser, strings.Repeat("x", 410_000))
	_, err := b.auth.Create(b.ctx, ref, cmd, client(), key)
	b.tooLarge("a submission of 410 KB", err)
	_, err = b.ledger.Head(b.ctx, ref)
	b.want("its head", err, ledger.ErrNotFound)
	_, err = b.ledger.Key(b.ctx, *key)
	b.want("its key", err, ledger.ErrNotFound)
}
