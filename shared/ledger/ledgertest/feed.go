package ledgertest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var feedTests = []test{
	{"every entry of every task comes once, each task's ascending (I1)", feedComplete},
	{"a position resumes with what comes after it", feedResumes},
	{"a commit without entries is not in it", feedEntriesOnly},
	{"concurrent commits all arrive, also behind a reader (I4)", feedConcurrent},
}

// changes reads the feed to its present end, and keeps the bench's tenant.
func (b *bench) changes(after string, limit int) ([]ledger.Change, error) {
	var own []ledger.Change
	for {
		page, err := b.ledger.Changes(b.ctx, after, limit)
		if err != nil {
			return nil, err
		}
		if len(page) > limit {
			return nil, fmt.Errorf("a page of %d items, the limit is %d", len(page), limit)
		}
		if len(page) == 0 {
			return own, nil
		}
		for _, c := range page {
			if c.Position == after || c.Position == "" {
				return nil, fmt.Errorf("position %q comes again", c.Position)
			}
			after = c.Position
			if c.Ref.Tenant == b.tenant {
				own = append(own, c)
			}
		}
	}
}

// wantFeed waits until the feed has exactly the entries of these tasks, each
// task's in order.
func (b *bench) wantFeed(what string, after string, limit int, want map[lifecycle.Ref][]lifecycle.Entry) {
	b.Helper()
	b.ok(eventually(b.ctx, func() error {
		changes, err := b.changes(after, limit)
		if err != nil {
			return err
		}
		got := map[lifecycle.Ref][]lifecycle.Entry{}
		for _, c := range changes {
			got[c.Ref] = append(got[c.Ref], c.Entry)
		}
		for ref, entries := range got {
			if err := same(what+": the entries of "+ref.String(), entries, want[ref]); err != nil {
				return err
			}
		}
		return same(what+": the number of tasks", len(got), len(want))
	}))
}

func feedComplete(b *bench) {
	want := map[lifecycle.Ref][]lifecycle.Entry{}
	tasks := []lifecycle.Task{b.working("holder"), b.submitted(), b.working("holder")}
	for range 5 {
		for i, t := range tasks {
			if t.Holder != "" {
				tasks[i] = b.reported(t, progress())
			}
		}
	}
	for _, t := range tasks {
		want[t.Ref()] = b.entries(t.Ref())
	}
	for _, limit := range []int{1, 3, 7, 1000} {
		b.wantFeed(fmt.Sprintf("pages of %d", limit), "", limit, want)
	}
}

func feedResumes(b *bench) {
	t := b.working("holder")
	for range 4 {
		t = b.reported(t, progress())
	}
	entries := b.entries(t.Ref())
	b.wantFeed("from the beginning", "", 100, map[lifecycle.Ref][]lifecycle.Entry{t.Ref(): entries})
	all, err := b.changes("", 100)
	b.ok(err)
	for i, c := range all {
		want := map[lifecycle.Ref][]lifecycle.Entry{t.Ref(): entries[i+1:]}
		if i == len(all)-1 {
			delete(want, t.Ref())
		}
		b.wantFeed(fmt.Sprintf("after item %d", i+1), c.Position, 100, want)
	}
	last := all[len(all)-1].Position
	b.reported(t, progress())
	b.wantFeed("what is new", last, 100, map[lifecycle.Ref][]lifecycle.Entry{t.Ref(): b.entries(t.Ref())[len(entries):]})
}

func feedEntriesOnly(b *bench) {
	t := b.working("holder")
	b.wantFeed("before", "", 100, map[lifecycle.Ref][]lifecycle.Entry{t.Ref(): b.entries(t.Ref())})
	all, err := b.changes("", 100)
	b.ok(err)
	last := all[len(all)-1].Position
	b.ok(b.renew(t))
	t = b.granted(b.task(t.Ref()), "holder")
	_, err = b.cancel(b.ctx, t)
	b.ok(err)
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(1, lifecycle.FenceLost)))
	b.reported(b.task(t.Ref()), progress()) // canceled: two entries
	b.wantFeed("after a renewal, a grant, a mark and a rejection", last, 100,
		map[lifecycle.Ref][]lifecycle.Entry{t.Ref(): b.entries(t.Ref())[2:]})
}

// feedConcurrent reads the feed while it grows: an item that becomes visible
// behind the reader's position would be lost.
func feedConcurrent(b *bench) {
	const writers = 8
	each := rounds(25)
	refs, errs := make([]lifecycle.Ref, writers), make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			t, err := b.started(b.ctx, "holder")
			refs[i] = t.Ref()
			for range each {
				if err == nil {
					t, err = b.report(b.ctx, t, progress())
				}
			}
			errs[i] = err
		})
	}
	seen := map[lifecycle.Ref]uint64{}
	read, position := 0, ""
	b.ok(eventually(b.ctx, func() error {
		for {
			page, err := b.ledger.Changes(b.ctx, position, 10)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			for _, c := range page {
				position = c.Position
				if c.Ref.Tenant != b.tenant {
					continue
				}
				if c.Entry.Seq != seen[c.Ref]+1 {
					b.Fatalf("the feed has entry %d of %s after entry %d", c.Entry.Seq, c.Ref.Task, seen[c.Ref])
				}
				seen[c.Ref] = c.Entry.Seq
				read++
			}
		}
		return same("items read", read, writers*(each+2))
	}))
	all.Wait()
	b.ok(errors.Join(errs...))
	for _, ref := range refs {
		b.is("the last entry in the feed", seen[ref], b.task(ref).Seq)
	}
}
