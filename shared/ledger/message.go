package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// EventAt reads what happened at a sequence of a task that is there.
func EventAt(ctx context.Context, tasks Tasks, ref lifecycle.Ref, seq uint64) (lifecycle.Event, error) {
	entries, err := tasks.Entries(ctx, ref, seq-1, 1)
	if err != nil {
		return lifecycle.Event{}, err
	}
	if len(entries) != 1 || entries[0].Seq != seq {
		return lifecycle.Event{}, fmt.Errorf("task %s has no entry %d", ref, seq)
	}
	return entries[0].Event()
}

// Whole is a message, if there is one, with the bytes that were moved to the blob store.
func Whole(ctx context.Context, blobs Blobs, ref lifecycle.Ref, m *a2a.Message) (*a2a.Message, error) {
	if m == nil {
		return nil, nil
	}
	out := *m
	out.Parts = make(a2a.ContentParts, 0, len(m.Parts))
	for _, p := range m.Parts {
		part := *p
		if blob, moved := lifecycle.AsBlob(p); moved {
			stored, err := blobs.Get(ctx, ref, blob.Digest)
			if errors.Is(err, ErrNotFound) { // the task is there
				return nil, fmt.Errorf("blob %s of task %s is missing", blob.Digest, ref)
			}
			if err == nil {
				part.Content, err = blob.Content(stored)
			}
			if err != nil {
				return nil, err
			}
		}
		out.Parts = append(out.Parts, &part)
	}
	return &out, nil
}
