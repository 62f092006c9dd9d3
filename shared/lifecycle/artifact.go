package lifecycle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Chunk is one piece of an artifact, at the coordinate (artifact, revision,
// number). A revision is opened by a chunk that does not append; its numbers are
// 1, 2, 3 …; the last chunk seals it.
type Chunk struct {
	Artifact    a2a.ArtifactID `json:"artifact"`
	Revision    int            `json:"revision"`
	Number      int            `json:"number"`
	Name        string         `json:"name,omitempty"`
	Description string         `json:"description,omitempty"`
	Last        bool           `json:"last,omitempty"`
	// Part is the content; a large one is a URL part that names a blob (see
	// BlobPart).
	Part     *a2a.Part `json:"part"`
	Bytes    int64     `json:"bytes"`    // of the content, not of its JSON
	Checksum Digest    `json:"checksum"` // of the content, see PartContent
}

// Artifact is how far an artifact is.
type Artifact struct {
	ID       a2a.ArtifactID `json:"id"`
	Revision int            `json:"revision"`
	Chunks   int            `json:"chunks"` // of this revision
	Bytes    int64          `json:"bytes"`
	// Digest runs over the checksums of the revision's chunks.
	Digest Digest `json:"digest"`
	Sealed bool   `json:"sealed"`
	// Seq is the entry of the latest chunk.
	Seq uint64 `json:"seq"`
}

// ArtifactItem is an artifact's line in the manifest that the terminal entry
// closes.
type ArtifactItem struct {
	ID       a2a.ArtifactID `json:"id"`
	Revision int            `json:"revision"`
	Chunks   int            `json:"chunks"`
	Bytes    int64          `json:"bytes"`
	Digest   Digest         `json:"digest"`
	Sealed   bool           `json:"sealed"`
}

// place gives a new chunk its coordinate. appending without an open revision is
// refused: nothing is created, dropped or mixed silently.
func place(arts map[a2a.ArtifactID]Artifact, c Chunk, appending bool) (Chunk, error) {
	a, known := arts[c.Artifact]
	switch {
	case c.Artifact == "" || len(c.Artifact) > MaxNameBytes:
		return c, reject(LimitReached, "an artifact ID has 1 to %d bytes", MaxNameBytes)
	case !known && !appending && len(arts) >= MaxArtifacts:
		return c, reject(LimitReached, "a task has at most %d artifacts", MaxArtifacts)
	case appending && !known:
		return c, reject(UnknownArtifact, "append to artifact %q, which does not exist: open it first (append=false)", c.Artifact)
	case appending && a.Sealed:
		return c, reject(UnknownArtifact, "append to artifact %q, whose revision %d is sealed: open a new revision (append=false)", c.Artifact, a.Revision)
	case appending:
		c.Revision, c.Number = a.Revision, a.Chunks+1
	default:
		c.Revision, c.Number = a.Revision+1, 1
	}
	return c, nil
}

// grow is the artifact after a placed chunk.
func (a Artifact) grow(c Chunk, seq uint64) Artifact {
	if c.Revision != a.Revision {
		a = Artifact{ID: c.Artifact, Revision: c.Revision}
	}
	a.Chunks, a.Bytes, a.Sealed, a.Seq = c.Number, a.Bytes+c.Bytes, c.Last, seq
	a.Digest = DigestOf("holdfast-artifact-1", string(a.Digest), string(c.Checksum))
	return a
}

// Manifest lists a task's artifacts, by ID.
func Manifest(arts map[a2a.ArtifactID]Artifact) []ArtifactItem {
	items := make([]ArtifactItem, 0, len(arts))
	for _, a := range slices.SortedFunc(maps.Values(arts), func(x, y Artifact) int { return cmp.Compare(x.ID, y.ID) }) {
		items = append(items, ArtifactItem{ID: a.ID, Revision: a.Revision, Chunks: a.Chunks, Bytes: a.Bytes, Digest: a.Digest, Sealed: a.Sealed})
	}
	return items
}

func manifestDigest(items []ArtifactItem) (Digest, error) {
	if len(items) == 0 {
		return DigestBytes([]byte("[]")), nil
	}
	return DigestJSON(items)
}
