package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// creators lets 32 callers submit under one key, half of them with another
// request. One task comes of it; every other caller learns its ID, and whether
// the request was the same (cases 2 and 3).
var creators = contest{
	rounds:   60,
	outcomes: []string{"one request wins", "the other request wins"},
	round: func(ctx context.Context, d *desk, s start) (string, error) {
		const callers = 32
		key := d.newKey("key")
		digests := [2]lifecycle.Digest{lifecycle.DigestBytes([]byte("one")), lifecycle.DigestBytes([]byte("other"))}
		refs, errs := make([]lifecycle.Ref, callers), make([]error, callers)
		create := func(i int) {
			refs[i] = d.newRef()
			cmd := submission()
			cmd.RequestDigest = digests[i%2]
			_, errs[i] = d.auth.Create(ctx, refs[i], cmd, client(), key)
		}
		var all sync.WaitGroup
		lead := map[start]int{firstLeads: 0, secondLeads: 1}
		first, leads := lead[s]
		if leads {
			create(first)
		}
		for n := range callers {
			i := n
			if s == swapped {
				i = callers - 1 - n
			}
			if !leads || i != first {
				all.Go(func() { create(i) })
			}
		}
		all.Wait()

		note, err := d.ledger.Key(ctx, *key)
		if err != nil {
			return "", err
		}
		created := 0
		for i, err := range errs {
			if err == nil {
				created++
				if note.Task != refs[i].Task || note.RequestDigest != digests[i%2] {
					return "", fmt.Errorf("task %s was created, the key belongs to %s", refs[i].Task, note.Task)
				}
				if _, _, err := d.verify(ctx, refs[i]); err != nil {
					return "", err
				}
				continue
			}
			taken, is := errors.AsType[*ledger.KeyTaken](err)
			if !is || taken.Note != note {
				return "", fmt.Errorf("a creator was told %w, want the note %v", err, note)
			}
			if _, err := d.ledger.Head(ctx, refs[i]); !isNotFound(err) {
				return "", fmt.Errorf("a refused creation left task %s behind (%w)", refs[i].Task, err)
			}
		}
		if created != 1 {
			return "", fmt.Errorf("%d tasks were created under one key", created)
		}
		if note.RequestDigest == digests[0] {
			return "one request wins", nil
		}
		return "the other request wins", nil
	},
}

// manyWriters lets several reports of one lease meet: each is committed once,
// after the others, by the bounded loop.
var manyWriters = contest{
	rounds:   raceRounds / 2,
	outcomes: []string{"all were written"},
	round: func(ctx context.Context, d *desk, _ start) (string, error) {
		const writers = 6
		t, err := d.started(ctx, "holder")
		if err != nil {
			return "", err
		}
		results, errs := make([]ledger.Result, writers), make([]error, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				r := progress()
				r.Holder, r.Fence = t.Holder, t.Fence
				results[i], errs[i] = d.auth.Do(ctx, t, r, runner(t.Holder, t.Fence), ledger.Extra{})
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return "", err
		}
		_, entries, err := d.verify(ctx, t.Ref())
		if err != nil {
			return "", err
		}
		for _, res := range results {
			if len(res.Entries) != 1 || res.Task.Seq != res.Entries[0].Seq {
				return "", fmt.Errorf("a writer was answered %d entries and sequence %d", len(res.Entries), res.Task.Seq)
			}
			if err := same("the entry that a writer was answered", res.Entries[0], entries[res.Entries[0].Seq-1]); err != nil {
				return "", err
			}
		}
		return "all were written", same("the number of entries", len(entries), int(t.Seq)+writers)
	},
}

// entriesOf counts the entries that an operation wrote.
func entriesOf(entries []lifecycle.Entry, op string) int {
	n := 0
	for _, e := range entries {
		if e.OpID == op {
			n++
		}
	}
	return n
}

// typesOf counts the entries of a type.
func typesOf(entries []lifecycle.Entry, wanted lifecycle.EntryType) int {
	n := 0
	for _, e := range entries {
		if e.Type == wanted {
			n++
		}
	}
	return n
}

// twice are two processes at one ledger and one tenant; the first has faults.
func (d *desk) twice(plan Plan) (faulty *desk) {
	faults := &Faults{Plan: plan}
	other := *d
	other.ledger = faults.Ledger(d.ledger)
	other.auth = &ledger.Authority{Ledger: other.ledger, Now: d.clock.Now, NewID: a2a.NewMessageID}
	return &other
}
