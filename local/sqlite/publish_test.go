package sqlite

import (
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Who has read of an entry in the file is not given an older head from memory behind it,
// however long the memory takes to hear of a commit: a caller who sees a question and
// answers it is not told that the task asks nothing.
func TestHeadIsNotOlderThanWhatWasRead(t *testing.T) {
	for name, read := range map[string]func(*Ledger, lifecycle.Ref, *testing.T) uint64{
		"entries": func(l *Ledger, ref lifecycle.Ref, t *testing.T) uint64 {
			entries, err := l.Entries(t.Context(), ref, 0, 0)
			if err != nil || len(entries) == 0 {
				t.Fatal(err)
			}
			return entries[len(entries)-1].Seq
		},
		"changes": func(l *Ledger, ref lifecycle.Ref, t *testing.T) uint64 {
			changes, err := l.Changes(t.Context(), "", 0)
			if err != nil || len(changes) == 0 {
				t.Fatal(err)
			}
			return changes[len(changes)-1].Entry.Seq
		},
		"list": func(l *Ledger, ref lifecycle.Ref, t *testing.T) uint64 {
			page, err := l.List(t.Context(), ledger.ListQuery{Tenant: ref.Tenant})
			if err != nil || len(page.Heads) != 1 {
				t.Fatal(err)
			}
			return page.Heads[0].Seq
		},
		"receipt": func(l *Ledger, ref lifecycle.Ref, t *testing.T) uint64 {
			r, err := l.Receipt(t.Context(), ref, "client", "answer")
			if err != nil {
				t.Fatal(err)
			}
			return r.Seq
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(pointVisible)
				l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
				head := created(t, l).Head
				for range maxTailEntries { // so many that the first ones are in the file alone
					c := benchNext(head)
					if err := l.Commit(t.Context(), c); err != nil {
						t.Fatal(err)
					}
					head = c.Head
				}
				last := benchNext(head)
				last.Receipts = []ledger.Receipt{{Producer: "client", EventID: "answer", Digest: lifecycle.DigestBytes(nil), Seq: last.Head.Seq, Op: last.Head.Op}}
				g.armed <- struct{}{}
				written := make(chan error, 1)
				go func() { written <- l.Commit(t.Context(), last) }()
				<-g.reached // readers of the file see it
				type seen struct{ read, head uint64 }
				looked := make(chan seen, 1)
				go func() {
					seq := read(l, head.Ref(), t)
					h, err := l.Head(t.Context(), head.Ref())
					if err != nil {
						t.Error(err)
					}
					looked <- seen{seq, h.Seq}
				}()
				synctest.Wait() // whoever does not wait for the memory is through
				g.verdict <- nil
				if err := <-written; err != nil {
					t.Error(err)
				}
				if s := <-looked; s.read != last.Head.Seq || s.head < s.read {
					t.Errorf("read of entry %d, written was %d, and the head behind it is at %d", s.read, last.Head.Seq, s.head)
				}
			})
		})
	}
}
