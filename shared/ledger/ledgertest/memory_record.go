package ledgertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// conflict tells what is there instead of what a caller saw.
func (r *record) conflict(seen uint64) *ledger.Conflict {
	c := &ledger.Conflict{Current: copyHead(r.head)}
	if seen < uint64(len(r.entries)) {
		c.NextOp = r.entries[seen].OpID
	}
	return c
}

// fresh refuses a commit that would write over a coordinate or a receipt.
func (r *record) fresh(c ledger.Commit) error {
	for _, k := range c.Chunks {
		if _, known := r.chunks[coordinate{k.Artifact, k.Revision, k.Number}]; known {
			return fmt.Errorf("chunk %d of revision %d of artifact %q was committed before", k.Number, k.Revision, k.Artifact)
		}
	}
	for _, receipt := range c.Receipts {
		if first, known := r.receipts[eventName{receipt.Producer, receipt.EventID}]; known {
			return &ledger.ReceiptKnown{Receipt: first}
		}
	}
	return nil
}

// Artifacts implements ledger.Tasks.
func (m *Memory) Artifacts(ctx context.Context, ref lifecycle.Ref) (out []lifecycle.Artifact, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.SortedFunc(maps.Values(r.artifacts), func(a, b lifecycle.Artifact) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
	return out, err
}

// Chunk implements ledger.Tasks.
func (m *Memory) Chunk(ctx context.Context, ref lifecycle.Ref, artifact a2a.ArtifactID, revision, number int) (k ledger.ChunkReceipt, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		var known bool
		if k, known = r.chunks[coordinate{artifact, revision, number}]; !known {
			return ledger.ErrNotFound
		}
		return nil
	})
	return k, err
}

// Receipt implements ledger.Tasks.
func (m *Memory) Receipt(ctx context.Context, ref lifecycle.Ref, producer, eventID string) (receipt ledger.Receipt, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		var known bool
		if receipt, known = r.receipts[eventName{producer, eventID}]; !known {
			return ledger.ErrNotFound
		}
		return nil
	})
	return receipt, err
}

// Hit implements ledger.Tasks.
func (m *Memory) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	return m.within(ctx, ref, func(r *record) error {
		receipt, known := r.receipts[eventName{producer, eventID}]
		if !known {
			return ledger.ErrNotFound
		}
		receipt.Hits++
		r.counts.Hits++
		r.receipts[eventName{producer, eventID}] = receipt
		return nil
	})
}

// Reject implements ledger.Tasks.
func (m *Memory) Reject(ctx context.Context, ref lifecycle.Ref, refused ledger.Rejected) error {
	return m.within(ctx, ref, func(r *record) error {
		r.reject(refused)
		return nil
	})
}

func (r *record) reject(refused ledger.Rejected) (kept bool) {
	r.counts.Rejections++
	if refused.Reason == lifecycle.ConflictingContent {
		r.counts.Incidents++
	}
	if kept = len(r.rejections) < lifecycle.MaxRejections; kept {
		r.rejections = append(r.rejections, refused)
	}
	return kept
}

// Rejections implements ledger.Tasks.
func (m *Memory) Rejections(ctx context.Context, ref lifecycle.Ref) (out []ledger.Rejected, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.Clone(r.rejections)
		return nil
	})
	return out, err
}

// Counts implements ledger.Tasks.
func (m *Memory) Counts(ctx context.Context, ref lifecycle.Ref) (counts ledger.Counts, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		counts = r.counts
		return nil
	})
	return counts, err
}

// copyHead and copyEntry keep the ledger's values apart from its callers'.
func copyHead(h lifecycle.Head) lifecycle.Head {
	h.Challenge, h.Cancel, h.Pause = copied(h.Challenge), copied(h.Cancel), copied(h.Pause)
	if h.Pause != nil {
		h.Pause.Challenge = copied(h.Pause.Challenge)
	}
	return h
}

func copyEntry(e lifecycle.Entry) lifecycle.Entry {
	e.Payload = slices.Clone(e.Payload)
	return e
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
