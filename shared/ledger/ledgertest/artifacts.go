package ledgertest

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var artifactTests = []test{
	{"artifacts are read by ID, as the last commit left them", artifactsByID},
	{"a coordinate is written once (I6)", artifactsOneContent},
	{"a new revision starts over", artifactsRevision},
	{"a task without artifacts has none", artifactsNone},
}

func artifactsByID(b *bench) {
	t := b.working("holder")
	want := map[a2a.ArtifactID]int{}
	for round := range 3 {
		r := lifecycle.Report{Verb: lifecycle.VerbSubStep}
		for _, id := range []a2a.ArtifactID{"z", "a", "m/1", "m#1", "é", "B"} {
			r.Updates = append(r.Updates, lifecycle.Update{Chunk: piece(id, fmt.Sprint(id, round), round == 2), Append: round > 0})
			want[id]++
		}
		t = b.reported(t, r)
		arts, err := b.ledger.Artifacts(b.ctx, t.Ref())
		b.ok(err)
		for i, a := range arts {
			if i > 0 && arts[i-1].ID >= a.ID {
				b.Fatalf("artifact %q is read before %q", arts[i-1].ID, a.ID)
			}
			b.is(fmt.Sprintf("artifact %q", a.ID), a, t.Arts[a.ID])
			b.is("its chunks", a.Chunks, want[a.ID])
		}
		b.is("the number of artifacts", len(arts), len(want))
		b.task(t.Ref())
	}
}

// artifactsOneContent goes past the rules of Decide, which never give a
// coordinate twice: the ledger must not write over one either.
func artifactsOneContent(b *bench) {
	t := b.working("holder")
	first := b.loaded(t, "op-1")
	b.ok(b.ledger.Commit(b.ctx, first))
	again := b.drafted(b.task(t.Ref()), "op-2", noted("again"))
	for _, checksum := range []lifecycle.Digest{first.Chunks[0].Checksum, lifecycle.DigestBytes([]byte("other bytes"))} {
		c := again
		c.Chunks = []ledger.ChunkReceipt{first.Chunks[0]}
		c.Chunks[0].Checksum = checksum
		b.untouched(t.Ref(), "a second chunk at a coordinate", func() {
			if err := b.ledger.Commit(b.ctx, c); err == nil {
				b.Fatal("a second chunk was written at a coordinate")
			}
		})
	}
}

func artifactsRevision(b *bench) {
	t := b.working("holder")
	for revision := 1; revision <= 3; revision++ {
		r := lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{
			{Chunk: piece("text", "same", false)}, {Chunk: piece("text", "same", false), Append: true},
		}}
		t = b.reported(t, r)
		arts, err := b.ledger.Artifacts(b.ctx, t.Ref())
		b.ok(err)
		b.is("the number of artifacts", len(arts), 1)
		b.is("revision and chunks", [2]int{arts[0].Revision, arts[0].Chunks}, [2]int{revision, 2})
	}
	b.task(t.Ref())
}

func artifactsNone(b *bench) {
	arts, err := b.ledger.Artifacts(b.ctx, b.working("holder").Ref())
	b.ok(err)
	b.is("the number of artifacts", len(arts), 0)
}
