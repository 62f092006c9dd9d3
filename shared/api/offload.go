package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// offload stores a message's large parts and gives back the message that names
// them instead. The message that was sent is left alone: its digest is the
// request's. before is asked ahead of the first write.
func (c *call) offload(ctx context.Context, ref lifecycle.Ref, m *a2a.Message, before func() error) (stored *a2a.Message, moved bool, err error) {
	out := *m
	for i, p := range m.Parts {
		if !large(p) {
			continue
		}
		content, err := lifecycle.PartContent(p)
		if err != nil {
			return nil, moved, err
		}
		if len(content) <= lifecycle.MaxInlineBytes {
			continue
		}
		if !moved {
			if err := before(); err != nil {
				return nil, moved, err
			}
			out.Parts, moved = slices.Clone(m.Parts), true
		}
		digest := lifecycle.DigestBytes(content)
		if err := c.Blobs.Put(ctx, ref, digest, content); err != nil {
			return nil, moved, err
		}
		out.Parts[i] = lifecycle.BlobPart(p, lifecycle.BlobRef{Digest: digest, Bytes: int64(len(content)), Kind: blobKind(p)})
	}
	return &out, moved, c.fits(&out)
}

// large says whether a part's content may be above the inline limit, without
// encoding small data.
func large(p *a2a.Part) bool {
	switch content := p.Content.(type) {
	case a2a.Text:
		return len(content) > lifecycle.MaxInlineBytes
	case a2a.Raw:
		return len(content) > lifecycle.MaxInlineBytes
	case a2a.Data:
		return true
	default:
		return false
	}
}

func blobKind(p *a2a.Part) string {
	switch p.Content.(type) {
	case a2a.Text:
		return lifecycle.BlobText
	case a2a.Raw:
		return lifecycle.BlobRaw
	default:
		return lifecycle.BlobData
	}
}

// fits checks what is left of a message against the size of an entry.
func (c *call) fits(m *a2a.Message) error {
	if c.r.ContentLength >= 0 && c.r.ContentLength <= lifecycle.MaxMessageBytes {
		return nil // it was no larger when it came in
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(encoded) > lifecycle.MaxMessageBytes {
		return refuse(a2a.ErrInvalidParams, "message: its small parts and metadata have %d bytes together, the limit is %d.", len(encoded), lifecycle.MaxMessageBytes)
	}
	return nil
}

// discard removes the blobs of a task that was never created.
func (c *call) discard(ctx context.Context, ref lifecycle.Ref) {
	if err := c.Blobs.DeleteAll(ctx, ref); err != nil {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "blobs of no task are left", slog.String("task", string(ref.Task)), slog.Any("error", err))
	}
}
