package api

import (
	"context"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of a page of chunks.
const (
	// maxChunkBytes bounds the inline content of a page: JSON may write a byte as six,
	// and an answer of Lambda ends at 6 MB (Lambda, Quotas).
	maxChunkBytes = 512 << 10
	// entriesAtOnce is how many entries are held while a revision is looked for.
	entriesAtOnce = 200
)

// artifactPage is a page of the chunks of one revision of an artifact, also while
// it grows and after its task has ended.
type artifactPage struct {
	Task     a2a.TaskID     `json:"task"`
	Artifact a2a.ArtifactID `json:"artifact"`
	Revision int            `json:"revision"`
	Chunks   []chunkView    `json:"chunks"`
	// Next is the cursor for the next page: the last number of this one. There is more
	// while it is below Total, and may be more while the revision is not sealed.
	Next   int  `json:"next"`
	Total  int  `json:"total"`
	Sealed bool `json:"sealed"`
	// Superseded says that a later revision has taken this one's place: Current.
	Superseded bool `json:"superseded"`
	Current    int  `json:"current"`
}

// chunkView is a chunk as callers see it.
type chunkView struct {
	Number    int              `json:"number"`
	MediaType string           `json:"mediaType,omitempty"`
	Checksum  lifecycle.Digest `json:"checksum"` // of the content, also of a large one
	Bytes     int64            `json:"bytes"`
	Part      *a2a.Part        `json:"part"`
	Last      bool             `json:"last"`
	Sequence  uint64           `json:"sequence"`
}

// serveArtifact answers with chunks after a number:
// GET /tasks/{id}/artifacts/{artifactId}?after=n&revision=r&limit=n.
func (c *call) serveArtifact(at address) {
	c.answer(c.chunksOf(at.task, a2a.ArtifactID(at.item)))
}

func (c *call) chunksOf(id a2a.TaskID, artifact a2a.ArtifactID) (artifactPage, error) {
	var r reader
	values, err := query(c.r.URL.RawQuery)
	if err != nil {
		return artifactPage{}, err
	}
	after, limit := r.natural(values, "after", 0), r.natural(values, "limit", defaultEntries)
	revision := r.natural(values, "revision", 0)
	if limit < 1 || limit > maxEntries {
		r.wrong("limit", "must be between 1 and %d", maxEntries)
	}
	if err := r.err(); err != nil {
		return artifactPage{}, err
	}
	if _, err := c.known(id); err != nil {
		return artifactPage{}, err
	}
	arts, err := c.Authority.Ledger.Artifacts(c.r.Context(), c.refTo(id))
	if err != nil {
		return artifactPage{}, err
	}
	i := slices.IndexFunc(arts, func(a lifecycle.Artifact) bool { return a.ID == artifact })
	if i < 0 {
		return artifactPage{}, refuse(errNotFound, "The task has no such artifact.")
	}
	current := arts[i]
	if revision > uint64(current.Revision) {
		return artifactPage{}, refuse(errNotFound, "The artifact has no revision %d; its current one is %d.", revision, current.Revision)
	}
	page := artifactPage{Task: id, Artifact: artifact, Revision: current.Revision, Chunks: []chunkView{}, Current: current.Revision}
	if revision > 0 {
		page.Revision = int(revision)
	}
	page.Superseded = page.Revision < current.Revision
	if err := c.fill(c.r.Context(), &page, current, after, int(limit)); err != nil {
		return page, err
	}
	if after > uint64(page.Total) { // a cursor of another revision, perhaps
		r.wrong("after", "is %d, but revision %d has %d chunks; the current revision is %d", after, page.Revision, page.Total, page.Current)
		return page, r.err()
	}
	page.Next = int(after)
	if n := len(page.Chunks); n > 0 {
		page.Next = page.Chunks[n-1].Number
	}
	return page, nil
}

// fill reads the page's revision from the entries up to the artifact's latest
// chunk: what is committed meanwhile is for the next page.
func (c *call) fill(ctx context.Context, page *artifactPage, current lifecycle.Artifact, after uint64, limit int) error {
	var size int64
	full := false
	ref := c.refTo(page.Task)
	for seq := uint64(0); seq < current.Seq; {
		entries, err := c.Authority.Ledger.Entries(ctx, ref, seq, int(min(entriesAtOnce, current.Seq-seq)))
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return notFound(page.Task) // purged a moment ago
		}
		for _, e := range entries {
			seq = e.Seq
			if e.Type != lifecycle.TypeChunk {
				continue
			}
			ev, err := e.Event()
			if err != nil {
				return err
			}
			k := ev.Chunk
			if k.Artifact != page.Artifact || k.Revision != page.Revision {
				continue
			}
			page.Total, page.Sealed = k.Number, k.Last
			if full || uint64(k.Number) <= after {
				continue
			}
			if _, moved := lifecycle.AsBlob(k.Part); !moved {
				size += k.Bytes
			}
			if n := len(page.Chunks); n == limit || n > 0 && size > maxChunkBytes {
				full = true
				continue
			}
			page.Chunks = append(page.Chunks, c.chunkView(page.Task, k, e.Seq))
		}
		if full && !page.Superseded {
			break // how far the current revision is, is known
		}
	}
	if !page.Superseded {
		page.Total, page.Sealed = current.Chunks, current.Sealed
	}
	return nil
}

func (c *call) chunkView(id a2a.TaskID, k *lifecycle.Chunk, seq uint64) chunkView {
	out := chunkView{Number: k.Number, MediaType: k.Part.MediaType, Checksum: k.Checksum, Bytes: k.Bytes, Part: k.Part, Last: k.Last, Sequence: seq}
	blob, moved := lifecycle.AsBlob(k.Part)
	if moved {
		part := *k.Part
		part.Content = a2a.URL(c.blobURL(id)(blob.Digest))
		out.Part = &part
	}
	if out.MediaType != "" {
		return out
	}
	kind := blob.Kind
	if !moved && k.Part.URL() == "" {
		kind = lifecycle.BlobKind(k.Part)
	}
	switch kind { // what it is that names none; of an address only its other end knows
	case lifecycle.BlobText:
		out.MediaType = textPlain
	case lifecycle.BlobData:
		out.MediaType = typeJSON
	case lifecycle.BlobRaw:
		out.MediaType = "application/octet-stream"
	}
	return out
}
