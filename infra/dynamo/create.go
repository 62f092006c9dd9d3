package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Create implements ledger.Tasks. The key is looked at before the task: whoever
// repeats a submission learns of the task that it made.
func (l *Ledger) Create(ctx context.Context, c ledger.Creation) error {
	if len(c.Entries) == 0 {
		return fmt.Errorf("task %s is created without an entry", c.Head.Task)
	}
	if err := c.Check(); err != nil {
		return err
	}
	head, err := headItem(c.Head)
	if err != nil {
		return err
	}
	ref := c.Head.Ref()
	var t transaction
	t.put(l.tables.Tasks, head, (&expression{}).isNew()) // action 0
	for _, e := range c.Entries {
		l.putEntry(&t, ref, e) // action 1 is the first
	}
	claim := -1
	if c.Key != nil {
		claim = t.putRecord(l.tables.Tasks, submissionKey(*c.Key), plainLayout, c.Note, freeKey(c.Head.AcceptedAt))
	}
	// The head is new, so nothing is in their places.
	for _, e := range c.Endpoints {
		it, err := endpointItem(ref, e)
		t.note(err)
		t.put(l.tables.Private, it, &expression{})
	}
	err = l.transact(ctx, &t)
	r, refused := errors.AsType[*refusal](err)
	if !refused {
		return err
	}
	if key := r.at(claim); key.failed {
		return l.taken(ctx, *c.Key, key.old)
	}
	if head := r.at(0); head.failed && head.old != nil {
		return l.conflict(ctx, lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}, head.old, r.at(1))
	}
	return fmt.Errorf("task %s: entries are written that no head knows of", ref)
}

// taken says whom a key belongs to.
func (l *Ledger) taken(ctx context.Context, k ledger.Key, old item) error {
	var note ledger.KeyNote
	var err error
	if old == nil {
		note, err = l.Key(ctx, k)
	} else {
		note, err = decodePlain[ledger.KeyNote](old, "a submission key")
	}
	if err != nil {
		return err
	}
	return &ledger.KeyTaken{Note: note}
}

// Key implements ledger.Tasks.
func (l *Ledger) Key(ctx context.Context, k ledger.Key) (ledger.KeyNote, error) {
	it, err := l.get(ctx, l.tables.Tasks, submissionKey(k))
	if err != nil {
		return ledger.KeyNote{}, err
	}
	if it == nil {
		return ledger.KeyNote{}, fmt.Errorf("submission key: %w", ledger.ErrNotFound)
	}
	return decodePlain[ledger.KeyNote](it, "a submission key")
}
