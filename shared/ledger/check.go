package ledger

import (
	"errors"
	"fmt"
	"unicode/utf8"

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
	// endpointBytes is more than an endpoint has, within the limits of Check.
	endpointBytes = 40_000
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
	if p := c.Producer; p != nil {
		if p.Producer == "" || p.Seq == 0 || len(c.Entries)+len(c.Receipts) == 0 {
			return fmt.Errorf("a producer has a name, and its count goes on from 1 with the entries or the receipt of a report: %+v with %d entries and %d receipts", *p, len(c.Entries), len(c.Receipts))
		}
		items++
	}
	return check(c.Head, c.Entries, c.Seen.Seq, items, items*envelopeBytes)
}

// Check is Commit.Check for a new task.
func (c Creation) Check() error {
	if c.Key != nil && (c.Key.Tenant != c.Head.Tenant || c.Key.Hash != c.Head.Key) {
		return errors.New("a submission key belongs to the tenant of its task, and the head knows it")
	}
	if len(c.Endpoints) > MaxEndpoints {
		return fmt.Errorf("a submission with %d endpoints: %w (%d)", len(c.Endpoints), ErrTooManyEndpoints, MaxEndpoints)
	}
	known := map[string]bool{}
	for _, e := range c.Endpoints {
		if err := e.Check(); err != nil {
			return err
		}
		if known[e.ID] {
			return fmt.Errorf("the submission has two endpoints %q", e.ID)
		}
		known[e.ID] = true
	}
	const own = 2 // the head and the key
	return check(c.Head, c.Entries, 0, own+len(c.Endpoints), own*envelopeBytes+len(c.Endpoints)*endpointBytes)
}

// Check bounds an endpoint: it stays far below an item's limit, whatever is
// attempted later. Adapters call it first.
func (e Endpoint) Check() error {
	if e.ID == "" || e.URL == "" {
		return errors.New("an endpoint has an ID and a URL")
	}
	if len(e.Secrets) > MaxSecretBytes {
		return fmt.Errorf("%w: an endpoint's secrets have %d bytes, the limit is %d", ErrTooLarge, len(e.Secrets), MaxSecretBytes)
	}
	err := errors.Join(
		bounded("an endpoint's ID", e.ID, lifecycle.MaxIDBytes), bounded("an endpoint's URL", e.URL, MaxURLBytes), bounded("an endpoint's scheme", e.Scheme, lifecycle.MaxNameBytes),
		bounded("an endpoint's agent", e.Agent, lifecycle.MaxNameBytes), bounded("an endpoint's base", e.Base, MaxURLBytes), bounded("an endpoint's principal", e.Principal, lifecycle.MaxIDBytes))
	if err != nil {
		return err
	}
	return e.Delivery.Check()
}

// Check bounds a delivery. Adapters call it first.
func (d Delivery) Check() error {
	if d.State != DeliveryActive && d.State != DeliveryGivenUp && d.State != DeliveryDisabled {
		return fmt.Errorf("%q is no state of a delivery", d.State)
	}
	if len(d.Attempts) > MaxAttemptsKept {
		return fmt.Errorf("%w: a delivery remembers %d attempts, the limit is %d", ErrTooLarge, len(d.Attempts), MaxAttemptsKept)
	}
	for _, a := range d.Attempts {
		if err := bounded("an endpoint's attempt's error", a.Error, lifecycle.MaxReasonBytes); err != nil {
			return err
		}
	}
	return errors.Join(bounded("an endpoint's holder", d.Holder, lifecycle.MaxIDBytes), bounded("an endpoint's incarnation", d.Incarnation, lifecycle.MaxIDBytes))
}

func bounded(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrTooLarge, what, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not UTF-8", what)
	}
	return nil
}

func check(head lifecycle.Head, entries []lifecycle.Entry, after uint64, items, all int) error {
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
// requested or not, an export acknowledged or not in both. Renewals and counters change
// nothing of that.
func Stands(seen, current lifecycle.Head) bool {
	return seen.Seq == current.Seq && seen.Fence == current.Fence && seen.Generation == current.Generation &&
		seen.Holder == current.Holder && (seen.Cancel == nil) == (current.Cancel == nil) && seen.AckedAt.IsZero() == current.AckedAt.IsZero()
}
