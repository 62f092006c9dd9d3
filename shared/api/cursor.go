package api

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// cursor says where a caller's last stream was cut: behind an update and, for the
// artifacts that it names, behind a chunk of theirs. The zero value is no
// resumption.
type cursor struct {
	// seq is the sequence of the update; event is the ID of its entry, where the
	// caller knows only that.
	seq   *uint64
	event string
	// chunks are artifacts of which the caller has more, or less, than of the rest.
	chunks map[a2a.ArtifactID]place
}

// place is a chunk's within its artifact.
type place struct {
	revision int // 0: the one that the artifact had at the cursor
	number   int // 0: before the first
}

func (k cursor) given() bool { return k.seq != nil || k.event != "" || len(k.chunks) > 0 }

// position is a cursor that was held against a task: everything behind it is
// missing.
type position struct {
	seq uint64
	// chunks are the sequences behind which something of an artifact is missing.
	chunks map[a2a.ArtifactID]uint64
}

func (p position) lacks(u update) bool {
	if chunk, is := u.body.(*a2a.TaskArtifactUpdateEvent); is {
		if seq, named := p.chunks[chunk.Artifact.ID]; named {
			return u.seq > seq
		}
	}
	return u.seq > p.seq
}

// in finds the cursor in a task's history: all its entries, and the updates among
// them that callers see.
func (k cursor) in(entries []lifecycle.Entry, updates []update) (position, error) {
	end := uint64(len(entries))
	p := position{seq: end, chunks: map[a2a.ArtifactID]uint64{}} // nothing is missing but of the artifacts named
	switch {
	case k.seq != nil:
		p.seq = *k.seq
		if err := reached(p.seq, end); err != nil {
			return p, err
		}
	case k.event != "":
		seq, err := sequenceOf(k.event, entries)
		if err != nil {
			return p, err
		}
		p.seq = seq
	}
	for _, id := range slices.Sorted(maps.Keys(k.chunks)) {
		seq, err := k.chunks[id].in(id, p.seq, updates)
		if err != nil {
			return p, err
		}
		p.chunks[id] = seq
	}
	return p, nil
}

// sequenceOf finds the entry of an event. Producers choose their IDs: of two that
// chose the same, the first entry counts, behind which nothing is left out.
func sequenceOf(event string, entries []lifecycle.Entry) (uint64, error) {
	for _, e := range entries {
		if e.EventID == event {
			return e.Seq, nil
		}
	}
	var r reader
	r.wrong("after", "is neither a sequence nor the ID of an event of this task")
	return 0, r.err()
}

// in is the sequence of a chunk. Without a revision its number counts in the one
// that the artifact had at the sequence that the caller has seen, or in the first
// later one with so many chunks: what may be missing is sent.
func (at place) in(id a2a.ArtifactID, seen uint64, updates []update) (uint64, error) {
	revisions := revisionsOf(id, at.number, updates)
	for i, v := range revisions {
		left := i+1 < len(revisions) && revisions[i+1].first <= seen // for a later one
		wanted := at.revision == v.number || at.revision == 0 && !left
		if wanted && v.chunks >= at.number {
			return v.behind, nil
		}
	}
	if len(revisions) == 0 && at == (place{}) {
		return 0, nil // all of an artifact that is still to come
	}
	var r reader
	r.wrong("artifacts", "artifact %q has no chunk %d%s", id, at.number, at.of())
	return 0, r.err()
}

func (at place) of() string {
	if at.revision == 0 {
		return ""
	}
	return " in revision " + strconv.Itoa(at.revision)
}

// revision is one of an artifact's, as far as a cursor needs it.
type revision struct {
	number, chunks int
	first          uint64 // sequence of its first chunk
	behind         uint64 // of the chunk that the cursor names, or the one before the first
}

func revisionsOf(id a2a.ArtifactID, cut int, updates []update) []revision {
	var out []revision
	for _, u := range updates {
		chunk, is := u.body.(*a2a.TaskArtifactUpdateEvent)
		if !is || chunk.Artifact.ID != id {
			continue
		}
		of, number := coordinate(chunk)
		if number == 1 {
			out = append(out, revision{number: of, first: u.seq, behind: u.seq - 1})
		}
		latest := &out[len(out)-1] // a revision begins with its chunk 1 (I6)
		latest.chunks = number
		if number == cut {
			latest.behind = u.seq
		}
	}
	return out
}

// coordinate is where a chunk stands within its artifact, as its update says.
func coordinate(chunk *a2a.TaskArtifactUpdateEvent) (revision, number int) {
	own, _ := chunk.Metadata[lifecycle.ExtensionURI].(map[string]any)
	revision, _ = own["revision"].(int)
	number, _ = own["number"].(int)
	return revision, number
}

// after reads the cursor of an update: its sequence, or the ID of its event.
func (r *reader) after(v any, field string, k *cursor) {
	switch after := v.(type) {
	case nil:
	case float64:
		if after < 0 || after > lifecycle.MaxEntries || after != float64(uint64(after)) {
			r.wrong(field, "must be the sequence of an update")
			return
		}
		k.seq, k.event = new(uint64(after)), ""
	case string:
		if seq, err := strconv.ParseUint(after, 10, 64); err == nil {
			k.seq, k.event = &seq, ""
			return
		}
		k.seq, k.event = nil, after
		r.name(after, field, lifecycle.MaxKeyBytes)
	default:
		r.wrong(field, "must be the sequence of an update, or the ID of an event")
	}
}

// chunks reads the cursors of artifacts: {"draft": 2}, {"draft": {"revision": 1,
// "number": 2}} or ["draft/2"].
func (r *reader) chunks(v any, field string, k *cursor) {
	if v == nil {
		return
	}
	out := map[a2a.ArtifactID]place{}
	add := func(id string, at place, ok bool) {
		r.name(id, field, lifecycle.MaxNameBytes)
		_, twice := out[a2a.ArtifactID(id)]
		switch {
		case !ok:
			r.wrong(field, "must name the number of a chunk for each artifact")
		case twice:
			r.wrong(field, "names artifact %q twice", id)
		}
		out[a2a.ArtifactID(id)] = at
	}
	switch list := v.(type) {
	case map[string]any:
		for _, id := range slices.Sorted(maps.Keys(list)) {
			p, ok := placeOf(list[id])
			add(id, p, ok)
		}
	case []any:
		for _, item := range list {
			pair, _ := item.(string)
			i := max(0, strings.LastIndexByte(pair, '/'))
			number, err := strconv.ParseUint(strings.TrimPrefix(pair[i:], "/"), 10, 31)
			add(pair[:i], place{number: int(number)}, err == nil)
		}
	default:
		r.wrong(field, "must be an object of artifacts and numbers, or an array of artifact/number")
	}
	if len(out) > lifecycle.MaxArtifacts {
		r.wrong(field, "names %d artifacts, a task has at most %d", len(out), lifecycle.MaxArtifacts)
	}
	k.chunks = out
}

func placeOf(v any) (p place, ok bool) {
	if coordinate, is := v.(map[string]any); is {
		p.revision, ok = natural(coordinate["revision"])
		if !ok || p.revision == 0 {
			return p, false
		}
		v = coordinate["number"]
	}
	p.number, ok = natural(v)
	return p, ok
}

func natural(v any) (int, bool) {
	f, is := v.(float64)
	return int(f), is && f >= 0 && f <= lifecycle.MaxEntries && f == float64(int(f))
}
