package lifecycle

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// ExtensionURI is the A2A extension under which sequences, digests, pause
// numbers and cursors travel as metadata.
const ExtensionURI = "urn:holdfast:a2a:durable-task:v1"

// blobScheme marks a part whose bytes are in the blob store. It never leaves
// the product: views show an address, steps get the bytes.
const blobScheme = "holdfast-blob:"

// Kinds of a part that was moved to the blob store.
const (
	BlobText = "text"
	BlobRaw  = "raw"
	BlobData = "data"
)

// BlobRef names the bytes of a part in the blob store.
type BlobRef struct {
	Digest Digest
	Bytes  int64
	Kind   string // BlobText, BlobRaw or BlobData
}

// BlobPart is p with its content replaced by a reference.
func BlobPart(p *a2a.Part, ref BlobRef) *a2a.Part {
	out := &a2a.Part{Content: a2a.URL(blobScheme + string(ref.Digest)), Filename: p.Filename, MediaType: p.MediaType, Metadata: map[string]any{}}
	maps.Copy(out.Metadata, p.Metadata)
	out.Metadata[ExtensionURI] = map[string]any{"sha256": string(ref.Digest), "bytes": float64(ref.Bytes), "kind": ref.Kind}
	return out
}

// BlobKind is the kind of a part that is text, bytes or data.
func BlobKind(p *a2a.Part) string {
	switch p.Content.(type) {
	case a2a.Text:
		return BlobText
	case a2a.Raw:
		return BlobRaw
	default:
		return BlobData
	}
}

// Content is what a part had before its bytes were moved to the blob store.
func (r BlobRef) Content(stored []byte) (a2a.PartContent, error) {
	switch r.Kind {
	case BlobText:
		return a2a.Text(stored), nil
	case BlobData:
		var d a2a.Data
		err := json.Unmarshal(stored, &d.Value)
		return d, err
	}
	return a2a.Raw(stored), nil
}

// AsBlob says whether a stored part is a reference, and to what.
func AsBlob(p *a2a.Part) (BlobRef, bool) {
	digest, ok := strings.CutPrefix(string(p.URL()), blobScheme)
	if !ok {
		return BlobRef{}, false
	}
	ref := BlobRef{Digest: Digest(digest)}
	if m, ok := p.Metadata[ExtensionURI].(map[string]any); ok {
		ref.Kind, _ = m["kind"].(string)
		if n, ok := m["bytes"].(float64); ok {
			ref.Bytes = int64(n)
		}
	}
	return ref, true
}
