package api

import (
	"context"
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
	if c.small() {
		return &out, false, nil
	}
	for i, p := range m.Parts {
		if p.URL() != "" {
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
		out.Parts[i] = lifecycle.BlobPart(p, lifecycle.BlobRef{Digest: digest, Bytes: int64(len(content)), Kind: lifecycle.BlobKind(p)})
	}
	return &out, moved, fits(&out)
}

// small says that no part of the request, nor the whole, can be above a limit:
// its canonical form is at most a few times as long as what was sent (1e20 has 21
// digits), and the limits are that far apart.
func (c *call) small() bool {
	return c.r.ContentLength >= 0 && c.r.ContentLength <= lifecycle.MaxInlineBytes
}

// fits checks what is left of a message against the size of an entry.
func fits(m *a2a.Message) error {
	encoded, err := lifecycle.Canonical(m)
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
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "blobs of no task are left", slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task)), slog.Any("error", err))
	}
}
