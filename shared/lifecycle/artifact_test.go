package lifecycle_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// piece is an update of an artifact; more appends to the open revision.
type piece struct {
	id         a2a.ArtifactID
	text       string
	more, last bool
}

func (b *book) emit(pieces ...piece) lifecycle.Report {
	r := b.report(lifecycle.VerbSubStep)
	for _, p := range pieces {
		r.Updates = append(r.Updates, lifecycle.Update{Append: p.more, Chunk: chunk(p.id, p.text, p.last)})
	}
	return r
}

// TestArtifactRules is the table of the rules (ARCHITECTURE.md, Artifacts): what a chunk does to an artifact that is
// unknown, open or sealed. What is refused leaves everything as it was (I6, case 44).
func TestArtifactRules(t *testing.T) {
	before := map[string][]piece{
		"unknown": nil,
		"open":    {{"a", "one", false, false}},
		"sealed":  {{"a", "one", false, false}, {"a", "two", true, true}},
	}
	for _, c := range []struct {
		artifact   string
		more, last bool
		want       string // revision/number, sealed or open; or the reason of a refusal
	}{
		{"unknown", false, false, "1/1 open"},
		{"unknown", false, true, "1/1 sealed"},
		{"unknown", true, false, "unknown-artifact"},
		{"unknown", true, true, "unknown-artifact"},
		{"open", false, false, "2/1 open"},
		{"open", false, true, "2/1 sealed"},
		{"open", true, false, "1/2 open"},
		{"open", true, true, "1/2 sealed"},
		{"sealed", false, false, "2/1 open"},
		{"sealed", false, true, "2/1 sealed"},
		{"sealed", true, false, "unknown-artifact"},
		{"sealed", true, true, "unknown-artifact"},
	} {
		t.Run(fmt.Sprintf("%s append=%t last=%t", c.artifact, c.more, c.last), func(t *testing.T) {
			b := started(t)
			if pieces := before[c.artifact]; pieces != nil {
				b.must(t, b.emit(pieces...), start)
			}
			cmd := b.emit(piece{"a", "next", c.more, c.last})
			if !strings.Contains(c.want, "/") {
				was := b.task
				b.refused(t, cmd, start, lifecycle.Reason(c.want))
				if !reflect.DeepEqual(b.task, was) {
					t.Errorf("a refused chunk changed the task")
				}
				return
			}
			b.must(t, cmd, start)
			a := b.task.Arts["a"]
			state := map[bool]string{true: "sealed", false: "open"}[a.Sealed]
			if got := fmt.Sprintf("%d/%d %s", a.Revision, a.Chunks, state); got != c.want || a.Seq != b.task.Seq {
				t.Errorf("%s at entry %d, want %s at %d", got, a.Seq, c.want, b.task.Seq)
			}
			if open := map[bool]int{true: 0, false: 1}[a.Sealed]; b.task.Unsealed != open || b.task.Artifacts != 1 {
				t.Errorf("the head counts %d artifacts, %d open", b.task.Artifacts, b.task.Unsealed)
			}
		})
	}
}

// TestOneRefusedChunkRefusesTheCommit: chunks go in together, or none does, and no message beside them.
func TestOneRefusedChunkRefusesTheCommit(t *testing.T) {
	b := started(t)
	cmd := b.emit(piece{"a", "one", false, false}, piece{"a", "two", true, true}, piece{"a", "three", true, true})
	cmd.Updates = append([]lifecycle.Update{{Message: say("Here it comes.")}}, cmd.Updates...)
	b.refused(t, cmd, start, lifecycle.UnknownArtifact)
	if b.task.Artifacts != 0 || len(b.entries) != 2 {
		t.Errorf("%d artifacts, %d entries", b.task.Artifacts, len(b.entries))
	}
}

// TestRevisionsNeverMix: bytes, chunks and digest of a revision are its own, whatever an earlier one had; the same
// chunks give the same digest in every revision, in another order another one.
func TestRevisionsNeverMix(t *testing.T) {
	b := started(t)
	digests := map[int]lifecycle.Digest{}
	for revision, words := range [][]string{{"one", "two"}, {"abandoned"}, {"one", "two"}, {"two", "one"}} {
		for i, text := range words {
			b.must(t, b.emit(piece{"a", text, i > 0, i == 1}), start)
		}
		a := b.task.Arts["a"]
		if a.Revision != revision+1 || a.Chunks != len(words) || a.Bytes != int64(len(strings.Join(words, ""))) || a.Sealed != (len(words) == 2) {
			t.Errorf("revision %d is %+v", revision+1, a)
		}
		digests[revision+1] = a.Digest
	}
	if digests[1] != digests[3] || digests[1] == digests[4] || digests[1] == digests[2] {
		t.Errorf("digests %v", digests)
	}
	shown := b.view.Task().Artifacts
	if len(shown) != 1 || len(shown[0].Parts) != 2 || shown[0].Parts[0].Text() != "two" {
		t.Errorf("callers see %+v", shown)
	}
}

// TestManifest: the terminal entry closes the manifest, sorted by ID; each end does, and says what is open; completing
// with something open is refused, for good.
func TestManifest(t *testing.T) {
	for verb, state := range map[lifecycle.Verb]a2a.TaskState{lifecycle.VerbComplete: lifecycle.Completed, lifecycle.VerbFail: lifecycle.Failed, lifecycle.VerbReject: lifecycle.Rejected} {
		b := started(t)
		b.must(t, b.emit(piece{"z", "one", false, false}, piece{"a", "x", false, true}, piece{"z", "again", false, false}), start)
		if verb == lifecycle.VerbComplete {
			for range 3 { // nothing of it mends itself
				b.refused(t, b.report(verb), start, lifecycle.OpenArtifact)
			}
			b.must(t, b.emit(piece{"z", "end", true, true}), start)
		}
		b.must(t, b.report(verb), start)
		last := b.entries[len(b.entries)-1]
		ev, err := last.Event()
		if err != nil || b.task.State != state || ev.Ending == nil {
			t.Fatalf("%s: %s with %+v, %v", verb, b.task.State, ev.Ending, err)
		}
		if want := lifecycle.Manifest(b.task.Arts); !slices.Equal(ev.Ending.Manifest, want) || len(want) != 2 || want[0].ID != "a" || want[1].Revision != 2 {
			t.Errorf("%s: manifest %+v, want %+v", verb, ev.Ending.Manifest, want)
		}
		if sealed := ev.Ending.Manifest[1].Sealed; sealed != (verb == lifecycle.VerbComplete) {
			t.Errorf("%s: z is sealed: %t", verb, sealed)
		}
		b.refused(t, b.emit(piece{"z", "late", true, true}), start, lifecycle.PostTerminal)
	}
}

// TestChunksFollowEachOther: a history in which a coordinate comes twice, with the same bytes or with others, or in
// which a number or a revision is skipped, is none (I1, I6). Decide never writes one; nobody reads one either.
func TestChunksFollowEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		revision, number int
		sealed, follows  bool // the revision before it
	}{
		"the next number":            {1, 3, false, true},
		"the next revision":          {2, 1, false, true},
		"the same number":            {1, 2, false, false},
		"an earlier number":          {1, 1, false, false},
		"a gap in the numbers":       {1, 4, false, false},
		"number 0":                   {1, 0, false, false},
		"a gap in the revisions":     {3, 1, false, false},
		"an earlier revision":        {0, 1, false, false},
		"a revision from its middle": {2, 2, false, false},
		"behind the seal":            {1, 3, true, false},
		"a revision behind a seal":   {2, 1, true, true},
	} {
		for _, text := range []string{"two", "other bytes"} {
			b := started(t)
			b.must(t, b.emit(piece{"a", "one", false, false}, piece{"a", "two", true, c.sealed}), start)
			k := chunk("a", text, false)
			k.Revision, k.Number = c.revision, c.number
			forged := lifecycle.Decision{After: b.task.Head, Events: []lifecycle.Event{{Type: lifecycle.TypeChunk, Chunk: k}}}
			_, entries, err := lifecycle.Seal(b.task, forged, lifecycle.Source{Producer: "forger"}, "op-x", start)
			if (err == nil) != c.follows || c.follows != (len(entries) == 1) {
				t.Errorf("%s, %q: %d entries, %v", name, text, len(entries), err)
			}
		}
	}
	// An artifact begins with the first chunk of its first revision.
	b := started(t)
	for _, at := range [][2]int{{1, 2}, {2, 1}, {0, 1}, {1, 0}} {
		k := chunk("a", "x", false)
		k.Revision, k.Number = at[0], at[1]
		forged := lifecycle.Decision{After: b.task.Head, Events: []lifecycle.Event{{Type: lifecycle.TypeChunk, Chunk: k}}}
		if _, _, err := lifecycle.Seal(b.task, forged, lifecycle.Source{Producer: "forger"}, "op-x", start); err == nil {
			t.Errorf("an artifact begins at %v", at)
		}
	}
}

// TestCoordinateIsAssigned: what a holder writes into a chunk's coordinate counts for nothing, so that no two commits
// can mean the same one.
func TestCoordinateIsAssigned(t *testing.T) {
	b := started(t)
	b.must(t, b.emit(piece{"a", "one", false, false}), start)
	cmd := b.emit(piece{"a", "two", true, false})
	cmd.Updates[0].Chunk.Revision, cmd.Updates[0].Chunk.Number = 1, 1 // where other bytes are
	b.must(t, cmd, start)
	if a := b.task.Arts["a"]; a.Revision != 1 || a.Chunks != 2 || cmd.Updates[0].Chunk.Number != 1 {
		t.Errorf("%+v; the holder's own chunk %+v", a, cmd.Updates[0].Chunk)
	}
}

// TestArtifactLimits: a task has so many artifacts and no more; those that it has may still grow and be replaced.
func TestArtifactLimits(t *testing.T) {
	b := started(t)
	b.quick = true
	for i := 0; i < lifecycle.MaxArtifacts; i += 6 {
		var pieces []piece
		for k := i; k < i+6; k++ {
			pieces = append(pieces, piece{a2a.ArtifactID(fmt.Sprintf("a-%d", k)), "x", false, k > 0})
		}
		b.must(t, b.emit(pieces...), start)
	}
	b.refused(t, b.emit(piece{"one-more", "x", false, true}), start, lifecycle.LimitReached)
	b.must(t, b.emit(piece{"a-0", "y", true, true}, piece{"a-1", "anew", false, true}), start)
	b.must(t, b.report(lifecycle.VerbComplete), start)
	if err := b.fold(); err != nil {
		t.Error(err)
	}
}

// TestOpenArtifactsAreAnsweredAlike: of several open artifacts the refusal names the first by ID, always: what is kept
// of it must be the same on every ledger.
func TestOpenArtifactsAreAnsweredAlike(t *testing.T) {
	b := started(t)
	b.must(t, b.emit(piece{"c", "x", false, false}, piece{"b", "x", false, false}, piece{"a", "x", false, true}, piece{"d", "x", false, false}), start)
	for range 100 {
		_, err := lifecycle.Decide(b.task, b.report(lifecycle.VerbComplete), start)
		if !lifecycle.RejectedFor(err, lifecycle.OpenArtifact) || !strings.Contains(err.Error(), `"b"`) {
			t.Fatalf("%v", err)
		}
	}
}
