package ledger

import (
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What a transaction takes on DynamoDB (TransactWriteItems, API reference), with
// its units read as the smaller ones. Every adapter keeps these limits, so that
// nobody learns of them in production only.
const (
	maxItems     = 100
	maxItemBytes = 400_000
	maxAllBytes  = 4_000_000
	// envelopeBytes is more than an item has beside an entry's payload.
	envelopeBytes = 2_000
)

// ErrTooLarge is a write beyond a limit of the ledger: it never will be taken.
var ErrTooLarge = errors.New("too large for a commit")

// Check refuses what no adapter takes: entries that do not continue the history
// that the caller saw (I1), and more than a transaction holds. Adapters call it
// first.
func (c Commit) Check() error {
	if c.Head.Ref() != c.Seen.Ref() {
		return fmt.Errorf("the commit was decided on task %s and is for %s", c.Seen.Ref(), c.Head.Ref())
	}
	items := 1 + len(c.Artifacts) + len(c.Chunks) + len(c.Receipts)
	if c.Answered != 0 {
		items++
	}
	if c.Head.Terminal() && !c.Seen.Terminal() {
		items++ // the expiry marker
	}
	return check(c.Head, c.Entries, c.Seen.Seq, items)
}

// Check is Commit.Check for a new task.
func (c Creation) Check() error {
	return check(c.Head, c.Entries, 0, 2)
}

func check(head lifecycle.Head, entries []lifecycle.Entry, after uint64, others int) error {
	items, all := others, others*envelopeBytes
	for i, e := range entries {
		if want := after + uint64(i) + 1; e.Seq != want || e.Task != head.Task {
			return fmt.Errorf("entry %d of task %s stands where entry %d of task %s belongs: entries follow without gap", e.Seq, e.Task, want, head.Task)
		}
		size := len(e.Payload) + envelopeBytes
		if size > maxItemBytes {
			return fmt.Errorf("%w: entry %d has %d bytes, an item takes %d", ErrTooLarge, e.Seq, size, maxItemBytes)
		}
		items, all = items+1, all+size
	}
	if want := after + uint64(len(entries)); head.Seq != want {
		return fmt.Errorf("the head is at entry %d, its entries end at %d", head.Seq, want)
	}
	if items > maxItems || all > maxAllBytes {
		return fmt.Errorf("%w: %d items and %d bytes, a transaction takes %d and %d", ErrTooLarge, items, all, maxItems, maxAllBytes)
	}
	return nil
}

// Stands says whether the head that a caller saw still stands, as far as a commit
// depends on it: same sequence, fence, generation and holder, and a cancellation
// requested or not in both. Renewals and counters change nothing of that.
func Stands(seen, current lifecycle.Head) bool {
	return seen.Seq == current.Seq && seen.Fence == current.Fence && seen.Generation == current.Generation &&
		seen.Holder == current.Holder && (seen.Cancel == nil) == (current.Cancel == nil)
}
