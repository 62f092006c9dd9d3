package sqlite

import (
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What DynamoDB refuses is refused here too, so that nobody learns of it in
// production (TransactWriteItems, API reference). Its units are read as the
// smaller ones: 400 KB are 400,000 bytes.
const (
	maxItems     = 100
	maxItemBytes = 400_000
	maxBytes     = 4_000_000
)

// weight adds up what a transaction on DynamoDB would carry.
type weight struct {
	items, bytes int
}

// add counts one item. Its name is for the message.
func (w *weight) add(name string, size int) error {
	w.items++
	w.bytes += size
	switch {
	case size > maxItemBytes:
		return fmt.Errorf("%s has %d bytes; an item has at most %d", name, size, maxItemBytes)
	case w.items > maxItems:
		return fmt.Errorf("a commit has at most %d items", maxItems)
	case w.bytes > maxBytes:
		return fmt.Errorf("a commit has at most %d bytes", maxBytes)
	}
	return nil
}

// contiguous checks that entries continue a history of the task that ends at
// after, and that the head is where they end (I1).
func contiguous(head lifecycle.Head, entries []lifecycle.Entry, after uint64) error {
	for i, e := range entries {
		if want := after + uint64(i) + 1; e.Seq != want {
			return fmt.Errorf("entry %d has sequence %d, want %d: entries follow without gap", i, e.Seq, want)
		}
		if e.Task != head.Task {
			return fmt.Errorf("entry %d belongs to task %s, the head to %s", i, e.Task, head.Task)
		}
	}
	if want := after + uint64(len(entries)); head.Seq != want {
		return fmt.Errorf("the head is at sequence %d, its entries end at %d", head.Seq, want)
	}
	return nil
}

func checkCommit(c ledger.Commit) error {
	ref := c.Seen.Ref()
	if c.Head.Ref() != ref {
		return fmt.Errorf("the commit was decided on task %s and is for %s", ref, c.Head.Ref())
	}
	return contiguous(c.Head, c.Entries, c.Seen.Seq)
}
