package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// spot is a chunk that names its coordinate; there is what stands at it, as the authority reads it.
type spot struct {
	revision, number int
	text             string
	last             bool
	there            *lifecycle.There
}

// standing is a chunk of the first event, at entry 3.
func standing(text string, last bool) *lifecycle.There {
	return &lifecycle.There{Checksum: lifecycle.DigestBytes([]byte(text)), Last: last, State: json.RawMessage(`{"n":1}`), Producer: "w", EventID: "first", Seq: 3}
}

// named is an outside producer's report of chunks of artifact "a", in its place.
func (b *book) named(place lifecycle.Place, spots ...spot) lifecycle.Report {
	r := lifecycle.Report{Holder: b.task.Holder, Fence: b.task.Fence, Verb: lifecycle.VerbProgress, Grace: grace, Place: &place}
	for _, s := range spots {
		c := chunk("a", s.text, s.last)
		c.Revision, c.Number = s.revision, s.number
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: c, Named: true, There: s.there})
	}
	return r
}

// TestNamedCoordinates is the table of the rules (ARCHITECTURE.md, Artifacts): what becomes of a chunk that says where it
// stands, on an artifact of two revisions, the first with one chunk, the second with two (I6).
func TestNamedCoordinates(t *testing.T) {
	inPlace, passed, ahead := lifecycle.Place{Seq: 4, Last: 3}, lifecycle.Place{Seq: 3, Last: 3}, lifecycle.Place{Seq: 5, Last: 3}
	there, old := standing("two", false), standing("old", false)
	for _, c := range []struct {
		about  string
		sealed bool
		place  lifecycle.Place
		spots  []spot
		want   string // entries written, "repeats" behind it where nothing is new; or the reason of a refusal
	}{
		{"the next one", false, inPlace, []spot{{2, 3, "three", false, nil}}, "1"},
		{"the next two, the last of them", false, inPlace, []spot{{2, 3, "three", false, nil}, {2, 4, "four", true, nil}}, "2"},
		{"the next revision", false, inPlace, []spot{{3, 1, "new", false, nil}}, "1"},
		{"the next revision of a sealed one", true, inPlace, []spot{{3, 1, "new", false, nil}}, "1"},
		{"one that is there", false, inPlace, []spot{{2, 2, "two", false, there}}, "0 repeats"},
		{"one that is there, and its producer has passed", false, passed, []spot{{2, 2, "two", false, there}}, "0 repeats"},
		{"one of an old revision", false, inPlace, []spot{{1, 1, "old", false, old}}, "0 repeats"},
		{"one that is there and a new one", false, inPlace, []spot{{2, 2, "two", false, there}, {2, 3, "three", false, nil}}, "1"},
		{"one that is there and a new one, passed", false, passed, []spot{{2, 2, "two", false, there}, {2, 3, "three", false, nil}}, "stale-sequence"},
		{"a new one, passed", false, passed, []spot{{2, 3, "three", false, nil}}, "stale-sequence"},
		{"one that is there, ahead of its producer", false, ahead, []spot{{2, 2, "two", false, there}}, "sequence-gap"},
		{"one and itself", false, inPlace, []spot{{2, 3, "three", false, nil}, {2, 3, "three", false, nil}}, "1"},
		{"one and itself with other bytes", false, inPlace, []spot{{2, 3, "three", false, nil}, {2, 3, "drei", false, nil}}, "conflicting-content"},
		{"other bytes", false, inPlace, []spot{{2, 2, "zwei", false, there}}, "conflicting-content"},
		{"other bytes, passed", false, passed, []spot{{2, 2, "zwei", false, there}}, "conflicting-content"},
		{"other bytes, ahead of its producer", false, ahead, []spot{{2, 2, "zwei", false, there}}, "conflicting-content"},
		{"other bytes in an old revision", false, inPlace, []spot{{1, 1, "alt", false, old}}, "conflicting-content"},
		{"other bytes behind a new one", false, inPlace, []spot{{2, 3, "three", false, nil}, {2, 2, "zwei", false, there}}, "conflicting-content"},
		{"the same bytes as the last", false, inPlace, []spot{{2, 2, "two", true, there}}, "conflicting-content"},
		{"the same bytes, not as the last", true, inPlace, []spot{{2, 2, "two", false, standing("two", true)}}, "conflicting-content"},
		{"one ahead", false, inPlace, []spot{{2, 4, "four", false, nil}}, "coordinate-gap"},
		{"a revision ahead", false, inPlace, []spot{{4, 1, "new", false, nil}}, "coordinate-gap"},
		{"the second of the next revision", false, inPlace, []spot{{3, 2, "new", false, nil}}, "coordinate-gap"},
		{"two of the next revision", false, inPlace, []spot{{3, 1, "a", false, nil}, {3, 2, "b", false, nil}}, "2"},
		{"one that an old revision never had", false, inPlace, []spot{{1, 2, "late", false, nil}}, "unknown-artifact"},
		{"one behind a seal", true, inPlace, []spot{{2, 3, "three", false, nil}}, "unknown-artifact"},
		{"one behind the last of its report", false, inPlace, []spot{{2, 3, "three", true, nil}, {2, 4, "four", false, nil}}, "unknown-artifact"},
		{"no revision", false, inPlace, []spot{{0, 3, "three", false, nil}}, "invalid-content"},
		{"no number", false, inPlace, []spot{{2, 0, "three", false, nil}}, "invalid-content"},
	} {
		t.Run(c.about, func(t *testing.T) {
			b := started(t)
			b.must(t, b.emit(piece{"a", "old", false, false}), start)
			b.must(t, b.emit(piece{"a", "one", false, false}, piece{"a", "two", true, c.sealed}), start)
			was := b.task
			cmd := b.named(c.place, c.spots...)
			if strings.Contains(c.want, "-") {
				b.refused(t, cmd, start, lifecycle.Reason(c.want))
				if !reflect.DeepEqual(b.task, was) {
					t.Error("a refused chunk changed the task")
				}
				return
			}
			d, err := lifecycle.Decide(b.task, cmd, start)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(len(d.Events))
			if d.Repeats != nil {
				got += " repeats"
				if !reflect.DeepEqual(d.Repeats, c.spots[0].there) {
					t.Errorf("repeats %+v", d.Repeats)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			for i, ev := range d.Events {
				want := c.spots[len(c.spots)-len(d.Events)+i]
				if c.about == "one and itself" {
					want = c.spots[0]
				}
				if ev.Chunk.Revision != want.revision || ev.Chunk.Number != want.number {
					t.Errorf("chunk %d of revision %d was written, want %+v", ev.Chunk.Number, ev.Chunk.Revision, want)
				}
			}
		})
	}
}

// TestRepeatedState: a state that came with chunks which are all there is the same as then, or another report's. In the
// producer's next place it is a checkpoint like any other.
func TestRepeatedState(t *testing.T) {
	for _, c := range []struct {
		place lifecycle.Place
		state string
		want  string
	}{
		{lifecycle.Place{Seq: 3, Last: 3}, `{"n":1}`, "repeats"},
		{lifecycle.Place{Seq: 3, Last: 3}, `{"n":2}`, "stale-sequence"},
		{lifecycle.Place{Seq: 4, Last: 3}, `{"n":2}`, "checkpoint"},
	} {
		b := started(t)
		b.must(t, b.emit(piece{"a", "one", false, false}), start)
		cmd := b.named(c.place, spot{1, 1, "one", false, standing("one", false)})
		cmd.State = json.RawMessage(c.state)
		d, err := lifecycle.Decide(b.task, cmd, start)
		got := ""
		switch {
		case err != nil:
			got, _, _ = strings.Cut(err.Error(), ":")
		case d.Repeats != nil:
			got = "repeats"
		case len(d.Events) == 1:
			got = string(d.Events[0].Type)
		}
		if got != c.want {
			t.Errorf("report %d behind %d with %s: %s, want %s", c.place.Seq, c.place.Last, c.state, got, c.want)
		}
	}
}

// TestNamedWithin: a coordinate that a report has just filled counts for what follows in it, named or not.
func TestNamedWithin(t *testing.T) {
	b := started(t)
	cmd := b.named(lifecycle.Place{Seq: 1}, spot{1, 1, "one", false, nil}, spot{1, 2, "two", false, nil})
	cmd.Updates[0].Named = false
	b.must(t, cmd, start)
	if a := b.task.Arts["a"]; a.Revision != 1 || a.Chunks != 2 {
		t.Errorf("%+v", a)
	}
	// Who names a coordinate that stands and was not read has a fault in the authority, not a worker.
	_, err := lifecycle.Decide(b.task, b.named(lifecycle.Place{Seq: 2, Last: 1}, spot{1, 2, "two", false, nil}), start)
	if err == nil || lifecycle.RejectedFor(err, lifecycle.CoordinateGap, lifecycle.ConflictingContent, lifecycle.UnknownArtifact) {
		t.Errorf("got %v", err)
	}
	var id a2a.ArtifactID = "b"
	cmd = b.named(lifecycle.Place{Seq: 2, Last: 1}, spot{1, 1, "x", true, nil})
	cmd.Updates[0].Chunk.Artifact = id
	b.must(t, cmd, start)
	if a := b.task.Arts[id]; a.Chunks != 1 || !a.Sealed {
		t.Errorf("%+v", a)
	}
}
