package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Commit implements ledger.Tasks. A chunk that is there already is the caller's
// error, and none that asks it to decide again.
func (l *Ledger) Commit(ctx context.Context, c ledger.Commit) error {
	if err := c.Check(); err != nil {
		return err
	}
	head, err := headUpdate(c.Head)
	if err != nil {
		return err
	}
	head.stands(c.Seen)
	err = l.commit(ctx, c, head)
	if err == nil && c.Expires() {
		l.markExpiry(ctx, c.Head)
	}
	return err
}

func (l *Ledger) commit(ctx context.Context, c ledger.Commit, head *expression) error {
	ref := c.Seen.Ref()
	if alone(c) {
		return l.classify(ctx, c, l.update(ctx, l.tables.Tasks, headKey(ref), head), places{-1, -1, -1})
	}
	var t transaction
	t.update(l.tables.Tasks, headKey(ref), head) // action 0
	at := places{-1, -1, -1}
	for _, e := range c.Entries {
		if n := l.putEntry(&t, ref, e); at.entry < 0 {
			at.entry = n
		}
	}
	l.belongings(&t, c, &at)
	return l.classify(ctx, c, l.transact(ctx, &t), at)
}

// places are where in a transaction a refusal has its reason: the first entry, the
// first receipt, the producer's mark; -1 for none.
type places struct{ entry, receipt, producer int }

// alone says whether a commit writes the head and nothing else: a lease granted,
// renewed or given back, a generation raised. That is a conditional update, at
// half the price of a transaction.
func alone(c ledger.Commit) bool {
	return len(c.Entries)+len(c.Artifacts)+len(c.Chunks)+len(c.Receipts) == 0 && c.Producer == nil && c.Answered == 0
}

// belongings adds what a commit carries beside its entries.
func (l *Ledger) belongings(t *transaction, c ledger.Commit, at *places) {
	ref, table := c.Seen.Ref(), l.tables.Tasks
	for _, a := range c.Artifacts {
		t.putRecord(table, artifactKey(ref, a.ID), artifactLayout, a, &expression{})
	}
	for _, k := range c.Chunks {
		t.putRecord(table, chunkKey(ref, k), chunkLayout, k, (&expression{}).isNew())
	}
	for _, r := range c.Receipts {
		if n := t.putRecord(table, receiptKey(ref, r.Producer, r.EventID), receiptLayout, r, (&expression{}).isNew()); at.receipt < 0 {
			at.receipt = n
		}
	}
	if m := c.Producer; m != nil {
		at.producer = t.putRecord(table, producerKey(ref, m.Producer), producerLayout, *m, (&expression{}).is(seqAttribute, numberOrNone(m.Seq-1)))
	}
	if c.Answered != 0 {
		// The one update that may make its item: the answer may be first.
		t.update(l.tables.Private, parkedKey(ref, c.Answered), (&expression{}).put(answeredName, &types.AttributeValueMemberBOOL{Value: true}))
	}
}

// classify says why a commit was refused. The head is the first action of a
// commit.
func (l *Ledger) classify(ctx context.Context, c ledger.Commit, err error, at places) error {
	seen := c.Seen
	r, refused := errors.AsType[*refusal](err)
	if !refused {
		return err
	}
	if head := r.at(0); head.failed {
		if headOf(head.old) == nil {
			return noTask(seen.Ref())
		}
		return l.conflict(ctx, seen, head.old, r.at(at.entry))
	}
	if r.at(at.producer).failed {
		current, err := l.Head(ctx, seen.Ref())
		if err != nil {
			return err
		}
		return &ledger.Conflict{Current: current}
	}
	for i, receipt := range c.Receipts {
		if one := r.at(at.receipt + i); one.failed {
			return receiptKnown(one.old, receipt)
		}
	}
	if entry := r.at(at.entry); entry.failed {
		// The entry is there and the head stands all the same: only a damaged table
		// looks like that, so nobody is told to decide again.
		return fmt.Errorf("task %s: entry %d is written and the head does not know of it", seen.Ref(), seen.Seq+1)
	}
	return fmt.Errorf("task %s: a chunk of the commit was committed before", seen.Ref())
}

// conflict tells what is there instead of what a caller saw. The operation of the
// next entry comes from the refused put of that entry; a commit without entries
// has none, and then it is read.
func (l *Ledger) conflict(ctx context.Context, seen lifecycle.Head, old item, entry reason) error {
	current, err := decodeHead(old)
	if err != nil {
		return err
	}
	c := &ledger.Conflict{Current: current, NextOp: textOf(entry.old, opName)}
	if c.NextOp != "" || current.Seq <= seen.Seq {
		return c
	}
	it, err := l.get(ctx, l.tables.Tasks, entryKey(seen.Ref(), seen.Seq+1), opName)
	if err != nil {
		return err
	}
	c.NextOp = textOf(it, opName)
	return c
}

// MarkCancel implements ledger.Tasks. The head's operation stays: a mark hides no
// other operation's success.
func (l *Ledger) MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, _ string) error {
	encoded, err := plainLayout.encode(mark)
	if err != nil {
		return err
	}
	x := (&expression{}).headExists().is(fenceName, numberOrNone(fence)).present(holderName)
	x.putFirst(cancelName, &types.AttributeValueMemberM{Value: encoded})
	err = l.update(ctx, l.tables.Tasks, headKey(ref), x)
	r, refused := errors.AsType[*refusal](err)
	switch {
	case !refused:
		return err
	case headOf(r.at(0).old) == nil:
		return noTask(ref)
	}
	current, err := decodeHead(r.at(0).old)
	if err != nil {
		return err
	}
	return &ledger.Conflict{Current: current}
}

// Head implements ledger.Tasks.
func (l *Ledger) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	it, err := l.get(ctx, l.tables.Tasks, headKey(ref))
	if err != nil {
		return lifecycle.Head{}, err
	}
	if headOf(it) == nil {
		return lifecycle.Head{}, noTask(ref)
	}
	return decodeHead(it)
}

// Counts implements ledger.Tasks.
func (l *Ledger) Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error) {
	it, err := l.get(ctx, l.tables.Tasks, headKey(ref), seqName, rejectionsName, incidentsName, hitsName, lateName, actsName)
	if err != nil {
		return ledger.Counts{}, err
	}
	if headOf(it) == nil {
		return ledger.Counts{}, noTask(ref)
	}
	return ledger.Counts{Rejections: countOf(it, rejectionsName), Incidents: countOf(it, incidentsName), Hits: countOf(it, hitsName), Quarantined: countOf(it, lateName), Acts: countOf(it, actsName)}, nil
}
