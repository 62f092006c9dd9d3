package simulation_test

import (
	"fmt"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A caller looks at what stands beside its task: the ledger, artifacts, blobs. What it
// gets is what is there.

func (c *conduct) look() {
	switch c.dice.IntN(3) {
	case 0:
		c.lookAtLedger()
	case 1:
		c.lookAtArtifact([]a2a.ArtifactID{"a", "b"}[c.dice.IntN(2)])
	default:
		if r, err := c.do(http.MethodGet, c.path("/pushNotificationConfigs"), ""); err == nil {
			c.refusedAs(r, "the list of webhooks")
		}
	}
}

// lookAtLedger reads all entries, page by page.
func (c *conduct) lookAtLedger() {
	after := uint64(0)
	for range 10 {
		r, err := c.do(http.MethodGet, c.path(fmt.Sprintf("/ledger?after=%d&limit=%d", after, 1+c.dice.IntN(8))), "")
		if err != nil || !r.ok() {
			if err == nil {
				c.refusedAs(r, "the ledger")
			}
			return
		}
		var page struct {
			Entries []lifecycle.Entry
			Head    struct{ Seq uint64 }
			Next    uint64
		}
		if err := r.into(&page); err != nil {
			c.w.broken("api", "a page of the ledger that cannot be read: %v", err)
			return
		}
		for _, e := range page.Entries {
			if after++; e.Seq != after {
				c.w.broken("I1", "task %s: entry %d came where entry %d is", c.ref, e.Seq, after)
			}
			c.w.committed(c.ref, e.Seq, string(e.Chain))
		}
		if page.Next != after || len(page.Entries) == 0 && after < page.Head.Seq {
			c.w.broken("api", "task %s: a page of the ledger ends at %d, and says %d (the head is at %d)", c.ref, after, page.Next, page.Head.Seq)
			return
		}
		if after >= page.Head.Seq {
			return
		}
	}
}

// lookAtArtifact reads an artifact's current revision, page by page, and its blobs.
func (c *conduct) lookAtArtifact(id a2a.ArtifactID) {
	after, revision := 0, 0
	for range 5 {
		path := c.path(fmt.Sprintf("/artifacts/%s?after=%d&limit=2", id, after))
		if revision > 0 {
			path += fmt.Sprintf("&revision=%d", revision)
		}
		r, err := c.do(http.MethodGet, path, "")
		if err != nil || !r.ok() {
			if err == nil {
				c.refusedAs(r, "an artifact", "NOT_FOUND")
			}
			return
		}
		var page struct {
			Revision, Total, Next int
			Chunks                []struct {
				Number   int
				Checksum lifecycle.Digest
				Part     a2a.Part
			}
		}
		if err := r.into(&page); err != nil {
			c.w.broken("api", "a page of an artifact that cannot be read: %v", err)
			return
		}
		if revision > 0 && page.Revision != revision {
			c.w.broken("I6", "task %s: asked for revision %d of %s, got %d", c.ref, revision, id, page.Revision)
		}
		revision = page.Revision
		for _, k := range page.Chunks {
			if after++; k.Number != after {
				c.w.broken("I6", "task %s: chunk %d of %s came where chunk %d is", c.ref, k.Number, id, after)
			}
			c.lookAtChunk(k.Checksum, k.Part)
		}
		if len(page.Chunks) == 0 || after >= page.Total {
			return
		}
	}
}

// lookAtChunk holds a chunk's content, or the blob that it names, against its checksum.
func (c *conduct) lookAtChunk(checksum lifecycle.Digest, part a2a.Part) {
	content := []byte(part.Text())
	if part.URL() != "" {
		r, err := c.do(http.MethodGet, c.path("/blobs/"+string(checksum)), "")
		if err != nil || !r.ok() {
			if err == nil {
				c.refusedAs(r, "a blob")
			}
			return
		}
		content = r.body
	}
	if got := lifecycle.DigestBytes(content); got != checksum {
		c.w.broken("I6", "task %s: a chunk with checksum %s has the content of %s", c.ref, checksum, got)
	}
}
