package ledgertest

import (
	"errors"
	"fmt"
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

// refusedForGood says whether a write was refused neither because of what is
// there nor as something to try again.
func refusedForGood(err error) bool {
	_, conflict := errors.AsType[*ledger.Conflict](err)
	_, taken := errors.AsType[*ledger.KeyTaken](err)
	return err != nil && !conflict && !taken && !isNotFound(err) && !errors.Is(err, ledger.ErrUnavailable)
}

func (b *bench) tooLarge(what string, err error) {
	b.Helper()
	if !refusedForGood(err) {
		b.Fatalf("%s: error %v, want it refused for good", what, err)
	}
}

func (b *bench) refusedWhole(t lifecycle.Task, what string, c ledger.Commit) {
	b.Helper()
	b.untouched(t.Ref(), what, func() { b.tooLarge(what, b.ledger.Commit(b.ctx, c)) })
}

// large is the largest entry that the rules allow, about, and oversize a payload
// past them.
func large() lifecycle.Event {
	state := fmt.Sprintf(`"%s"`, strings.Repeat("x", lifecycle.MaxPayloadBytes-1000))
	return lifecycle.Event{Type: lifecycle.TypeCheckpoint, Checkpoint: &lifecycle.Checkpoint{Step: "first", Visit: 1, State: []byte(state)}}
}

func oversize() []byte { return fmt.Appendf(nil, `{"x":"%s"}`, strings.Repeat("x", 410_000)) }

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
	c := b.drafted(t, "op-1", noted("small"), noted("large"))
	c.Entries[1].Payload = oversize()
	b.refusedWhole(t, "an entry of 410 KB", c)
	b.ok(b.ledger.Commit(b.ctx, b.drafted(t, "op-2", large())))
	b.task(t.Ref())
}

func limitAllBytes(b *bench) {
	t := b.working("holder")
	var events []lifecycle.Event
	for size := 0; size < 4<<20; size += lifecycle.MaxPayloadBytes - 1000 {
		events = append(events, large())
	}
	b.refusedWhole(t, "entries of more than 4 MB", b.drafted(t, "op-1", events...))
	b.ok(b.ledger.Commit(b.ctx, b.drafted(t, "op-2", events[:len(events)/2]...)))
	b.task(t.Ref())
}

func limitCreate(b *bench) {
	c := b.creation(b.newRef(), b.newKey("k"), "op-1")
	c.Entries[0].Payload = oversize()
	b.tooLarge("a submission of 410 KB", b.ledger.Create(b.ctx, c))
	_, err := b.ledger.Head(b.ctx, c.Head.Ref())
	b.want("its head", err, ledger.ErrNotFound)
	_, err = b.ledger.Key(b.ctx, *c.Key)
	b.want("its key", err, ledger.ErrNotFound)
}
