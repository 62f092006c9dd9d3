package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// There is a chunk that stands at its coordinate.
type There struct {
	Checksum Digest
	Last     bool
	// State is that of the checkpoint that came with it, nil for none.
	State json.RawMessage
	// Producer and EventID are the event that brought it, Seq is the entry that accepted
	// the event.
	Producer string
	EventID  string
	Seq      uint64
}

// holds a chunk against what stands where it says that it stands: the same again is
// nothing new, and everything else is an incident (I6).
func (h There) holds(c Chunk) *Rejection {
	switch {
	case h.Checksum != c.Checksum:
		return reject(ConflictingContent, "chunk %d of revision %d of artifact %q again with other bytes", c.Number, c.Revision, c.Artifact)
	case h.Last != c.Last:
		return reject(ConflictingContent, "chunk %d of revision %d of artifact %q again, and only one of the two says that it is the last", c.Number, c.Revision, c.Artifact)
	}
	return nil
}

// again holds a report's named chunks against what stands there. Repeats is set when
// they are all it brings and its producer's count has passed it: the report was accepted
// under another event ID. This comes before the count, for there is nothing in it that
// could be stale.
func (c Report) again() (repeats *There, r *Rejection) {
	for _, u := range c.Updates {
		if u.Named && u.Chunk != nil && u.There != nil {
			if r := u.There.holds(*u.Chunk); r != nil {
				return nil, r
			}
		}
	}
	whole := len(c.Updates) > 0 && c.Verb == VerbProgress && !slices.ContainsFunc(c.Updates, func(u Update) bool { return u.There == nil })
	if !whole || c.Place == nil || c.Place.Seq == 0 || c.Place.Seq > c.Place.Last {
		return nil, nil
	}
	if last := c.Updates[len(c.Updates)-1].There; len(c.State) > 0 && !bytes.Equal(c.State, last.State) {
		return nil, nil // the state is another report's, which was passed
	}
	return c.Updates[0].There, nil
}

// coordinate is where a chunk stands.
type coordinate struct {
	artifact         string
	revision, number int
}

func (c Chunk) coordinate() coordinate { return coordinate{string(c.Artifact), c.Revision, c.Number} }

// placeNamed holds a chunk that names its coordinate against its artifact: it is the
// next one, or the first of the next revision.
func (t Task) placeNamed(c Chunk) (Chunk, error) {
	a := t.Arts[c.Artifact]
	switch {
	case c.Revision < 1 || c.Number < 1:
		return c, reject(InvalidContent, "a coordinate has a revision and a number, each from 1")
	case c.Revision == a.Revision && c.Number <= a.Chunks:
		return c, fmt.Errorf("chunk %d of revision %d of artifact %q stands there and was not read", c.Number, c.Revision, c.Artifact)
	case c.Revision < a.Revision:
		return c, reject(UnknownArtifact, "revision %d of artifact %q was superseded with fewer chunks than %d; the current one is %d", c.Revision, c.Artifact, c.Number, a.Revision)
	case c.Revision == a.Revision && a.Sealed:
		return c, reject(UnknownArtifact, "revision %d of artifact %q is sealed with %d chunks: open a new one (revision %d, number 1)", c.Revision, c.Artifact, a.Chunks, a.Revision+1)
	case c.Revision == a.Revision && c.Number == a.Chunks+1:
		return place(t.Arts, c, true)
	case c.Revision == a.Revision+1 && c.Number == 1:
		return place(t.Arts, c, false)
	}
	return c, reject(CoordinateGap, "chunk %d of revision %d of artifact %q is ahead: it has %d chunks in revision %d", c.Number, c.Revision, c.Artifact, a.Chunks, a.Revision)
}

// placeChunk gives a new chunk its coordinate, or takes it where it says.
func (t Task) placeChunk(u Update) (Chunk, error) {
	if u.Named {
		return t.placeNamed(*u.Chunk)
	}
	return place(t.Arts, *u.Chunk, u.Append)
}
