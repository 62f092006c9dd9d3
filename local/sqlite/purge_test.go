package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// rows counts the rows of every table that belongs to tasks.
func rows(t *testing.T, l *Ledger) map[string]int {
	t.Helper()
	out := map[string]int{}
	tables := []string{"tasks", "purges"}
	for _, b := range belongings {
		tables = append(tables, b.table)
	}
	for _, table := range tables {
		_, err := l.pool.queryRow(context.Background(), "SELECT count(*) FROM "+table, func(row *sqlite3.Stmt) error {
			out[table] = row.ColumnInt(0)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// ended is a task that has ended and expires a minute later.
func ended(t *testing.T, l *Ledger) lifecycle.Head {
	t.Helper()
	c := created(t, l)
	next := c.Head
	next.Seq, next.State, next.ExpiresAt, next.DueAt = 2, lifecycle.Completed, benchAt.Add(time.Minute), time.Time{}
	if err := l.Commit(t.Context(), ledger.Commit{Seen: c.Head, Head: next, Entries: []lifecycle.Entry{entryOf(next)}}); err != nil {
		t.Fatal(err)
	}
	return next
}

func purger(l *Ledger) *ledger.Purger {
	return &ledger.Purger{Purges: l, Blobs: nowhere{}, Now: func() time.Time { return benchAt.Add(time.Hour) }, KeyNote: time.Hour}
}

// nowhere has no blobs.
type nowhere struct{ ledger.Blobs }

func (nowhere) DeleteAll(context.Context, lifecycle.Ref) error { return nil }

// TestBelongingsAreAll: every table whose rows belong to a task is purged. A table that
// is added must be added there, or its rows would be left, and be taken for those of a
// task that gets the row.
func TestBelongingsAreAll(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true})
	purged := map[string]bool{"tasks": true, "purges": true}
	for _, b := range belongings {
		purged[b.table] = true
	}
	found := map[string]bool{}
	err := l.pool.query(t.Context(), "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c ON c.name = 'task' WHERE m.type = 'table'", func(row *sqlite3.Stmt) error {
		found[row.ColumnText(0)] = true
		return nil
	})
	if err != nil || !maps.Equal(found, purged) {
		t.Errorf("tables with a task: %v (%v), purged are %v", found, err, purged)
	}
}

// TestRowsAreNotGivenTwice: the last task's row goes to no other while something of it
// is left, in this process or in the next one.
func TestRowsAreNotGivenTwice(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{NoSync: true})
	first := ended(t, l)
	p := purger(l)
	if _, err := l.BeginPurge(t.Context(), first.Ref(), p.Now()); err != nil {
		t.Fatal(err)
	}
	here := created(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, Options{NoSync: true})
	p = purger(l)
	there := created(t, l)
	for _, c := range []ledger.Creation{here, there} {
		wantSeq(t, l, c.Head.Ref(), 1)
	}
	removed, err := p.Purge(t.Context(), first.Ref())
	if err != nil || removed != 3 { // two entries, and the head
		t.Fatalf("%d records were removed (%v), want 3", removed, err)
	}
	for _, c := range []ledger.Creation{here, there} {
		wantSeq(t, l, c.Head.Ref(), 1)
		if entries, err := l.Entries(t.Context(), c.Head.Ref(), 0, 0); err != nil || len(entries) != 1 {
			t.Errorf("%d entries (%v), want the one", len(entries), err)
		}
	}
	if got := rows(t, l); got["tasks"] != 2 || got["entries"] != 2 || got["purges"] != 0 {
		t.Errorf("rows left: %v", got)
	}
}

// TestPurgeKilled: the process is killed between any two pieces. The next one has the
// rest, and nothing of it is seen meanwhile.
func TestPurgeKilled(t *testing.T) {
	for pieces := range 4 {
		t.Run(fmt.Sprintf("after %d calls", pieces), func(t *testing.T) {
			live := t.TempDir()
			l := open(t, live, Options{NoSync: true})
			gone, stays := ended(t, l), created(t, l)
			p := purger(l)
			var begun ledger.Purge
			for i, call := range []func() error{
				func() (err error) { begun, err = l.BeginPurge(t.Context(), gone.Ref(), p.Now()); return err },
				func() error { _, _, err := l.PurgePiece(t.Context(), gone.Ref()); return err },
				func() error { return l.EndPurge(t.Context(), begun, p.Now()) },
			} {
				if i < pieces {
					if err := call(); err != nil {
						t.Fatal(err)
					}
				}
			}
			left := contents(t, live) // what a killed process leaves
			delete(left, fileName+"-shm")
			dir := t.TempDir()
			lay(t, dir, left)
			next := open(t, dir, Options{NoSync: true})
			_, err := next.Head(t.Context(), gone.Ref())
			if seen := err == nil; seen != (pieces == 0) || err != nil && !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("the head: %v", err)
			}
			if n, err := next.Count(t.Context(), ledger.ListQuery{Tenant: gone.Tenant}); err != nil || n.Tasks != 2-min(1, pieces) {
				t.Errorf("%d tasks are counted (%v)", n.Tasks, err)
			}
			page, err := next.Expired(t.Context(), p.Now(), nil, 10)
			if err != nil || len(page.Refs) != 1-pieces/3 {
				t.Errorf("found to be purged: %v (%v)", page.Refs, err)
			}
			if _, err := purger(next).Purge(t.Context(), gone.Ref()); err != nil && pieces < 3 {
				t.Errorf("the next purge: %v", err)
			}
			wantSeq(t, next, stays.Head.Ref(), 1)
			if got := rows(t, next); got["tasks"] != 1 || got["entries"] != 1 || got["purges"] != 0 {
				t.Errorf("rows left: %v", got)
			}
		})
	}
}

// TestPurgedHeadIsForgotten: also by the memory of heads, and by a batch in which a
// write follows the purge.
func TestPurgedHeadIsForgotten(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true})
	h := ended(t, l)
	if _, err := l.Head(t.Context(), h.Ref()); err != nil {
		t.Fatal(err)
	}
	begin := &operation{apply: func(tx *transaction) error {
		s, err := tx.head(h.Ref())
		if err != nil {
			return err
		}
		tx.touched[h.Ref()] = touchedHead{purged: true}
		return tx.exec(tx.w.stmts.deleteTask, s.row)
	}}
	var after error
	late := &operation{apply: func(tx *transaction) error { _, after = tx.head(h.Ref()); return after }}
	for _, op := range []*operation{begin, late} {
		op.done = make(chan struct{})
	}
	l.writer.queue.mu.Lock() // both in one batch
	l.writer.queue.waiting = append(l.writer.queue.waiting, begin, late)
	l.writer.queue.signal()
	l.writer.queue.mu.Unlock()
	<-begin.done
	<-late.done
	if !errors.Is(after, ledger.ErrNotFound) {
		t.Errorf("a write behind the purge, in its transaction: %v", after)
	}
	if _, err := l.Head(t.Context(), h.Ref()); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the head: %v", err)
	}
	if n := l.Stats().Heads; n != 0 {
		t.Errorf("%d heads are in memory", n)
	}
}

// BenchmarkPurge purges tasks of two entries, many side by side.
func BenchmarkPurge(b *testing.B) {
	l, err := Open(b.TempDir(), Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	refs := make([]lifecycle.Ref, b.N)
	for i := range refs {
		c := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
		c.Head.State, c.Head.ExpiresAt, c.Head.DueAt = lifecycle.Completed, benchAt, time.Time{}
		if err := l.Create(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		refs[i] = c.Head.Ref()
	}
	p := &ledger.Purger{Purges: l, Blobs: nowhere{}, Now: func() time.Time { return benchAt.Add(time.Hour) }}
	next := make(chan lifecycle.Ref)
	b.SetParallelism(16)
	b.ResetTimer()
	go func() {
		for _, ref := range refs {
			next <- ref
		}
		close(next)
	}()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Purge(context.Background(), <-next); err != nil {
				b.Error(err)
			}
		}
	})
}
