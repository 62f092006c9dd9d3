package dynamo

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// opName is an entry's operation, as a refusal brings it back.
const opName = "op"

// putEntry adds an entry to a transaction and says where. Entries are written
// once.
func (l *Ledger) putEntry(t *transaction, ref lifecycle.Ref, e lifecycle.Entry) int {
	if e.Seq > maxCount {
		t.note(fmt.Errorf("entry %d of task %s has no place: the last one is %d", e.Seq, ref, uint64(maxCount)))
	}
	return t.putRecord(l.tables.Tasks, entryKey(ref, e.Seq), entryLayout, e, (&expression{}).isNew())
}

// decodeEntry reads an entry; its key says whose it is.
func decodeEntry(it item) (lifecycle.Ref, lifecycle.Entry, error) {
	var e lifecycle.Entry
	ref, err := taskOf(textOf(it, partitionName))
	if err != nil {
		return ref, e, err
	}
	seq, err := entrySeq(textOf(it, sortName))
	if err != nil {
		return ref, e, err
	}
	e.Task = ref.Task
	if err := entryLayout.decode(it, &e); err != nil {
		return ref, e, fmt.Errorf("entry %d of task %s cannot be read: %w", seq, ref, err)
	}
	if e.Seq != seq {
		return ref, e, fmt.Errorf("entry %d of task %s stands in the place of entry %d", e.Seq, ref, seq)
	}
	return ref, e, nil
}

// Entries implements ledger.Tasks.
func (l *Ledger) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	if after >= maxCount {
		return nil, ctx.Err()
	}
	var out []lifecycle.Entry
	err := l.between(ctx, l.tables.Tasks, ref, entrySort(after+1), afterAll(entryPrefix), limit, func(it item) error {
		_, e, err := decodeEntry(it)
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
