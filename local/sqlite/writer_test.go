package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var errDisk = errors.New("the disk is on fire")

// gate holds the writer at a point until it is told what to do there.
type gate struct {
	at      point
	reached chan struct{}
	verdict chan error
	armed   chan struct{} // one token lets the writer be held once
}

func newGate(at point) *gate {
	return &gate{at: at, reached: make(chan struct{}), verdict: make(chan error), armed: make(chan struct{}, 1)}
}

func (g *gate) fault(p point) error {
	if p != g.at {
		return nil
	}
	select {
	case <-g.armed:
		g.reached <- struct{}{}
		return <-g.verdict
	default:
		return nil
	}
}

func created(t testing.TB, l *Ledger) ledger.Creation {
	t.Helper()
	c := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
	if err := l.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func wantSeq(t testing.TB, l *Ledger, ref lifecycle.Ref, want uint64) {
	t.Helper()
	h, err := l.Head(t.Context(), ref)
	if err != nil || h.Seq != want {
		t.Fatalf("task %s is at %d (%v), want %d", ref, h.Seq, err, want)
	}
	entries, err := l.Entries(t.Context(), ref, 0, 0)
	if err != nil || uint64(len(entries)) != want {
		t.Fatalf("task %s has %d entries (%v), want %d", ref, len(entries), err, want)
	}
}

// together runs writes as one batch: the first one holds the writer while the
// others queue up behind it. It says how many transactions they took.
func together(t *testing.T, l *Ledger, g *gate, verdict error, writes ...func() error) (errs []error, batches uint64) {
	t.Helper()
	held := created(t, l)
	g.armed <- struct{}{}
	first := make(chan error, 1)
	go func() { first <- l.Commit(t.Context(), benchNext(held.Head)) }()
	<-g.reached
	errs = make([]error, len(writes))
	var all sync.WaitGroup
	for i, write := range writes {
		all.Go(func() { errs[i] = write() })
		synctest.Wait() // it is in the queue
	}
	before := l.Stats().Batches
	if verdict != nil {
		g.armed <- struct{}{}
	}
	g.verdict <- nil
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if verdict != nil {
		<-g.reached
		g.verdict <- verdict
	}
	all.Wait()
	return errs, l.Stats().Batches - before - 1
}

func TestBatchRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointBegin)
		l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
		a, b := created(t, l), created(t, l)
		stale := benchNext(a.Head)
		stale.Seen.Fence++
		second := benchNext(benchNext(b.Head).Head)
		errs, batches := together(t, l, g, nil,
			func() error { return l.Commit(t.Context(), benchNext(b.Head)) },
			func() error { return l.Commit(t.Context(), stale) },
			func() error { return l.Commit(t.Context(), second) }, // sees the first of its own batch
			func() error { return l.Commit(t.Context(), benchNext(b.Head)) },
			func() error { return l.Commit(t.Context(), benchNext(a.Head)) },
		)
		if batches != 1 {
			t.Errorf("the writes took %d transactions, want one", batches)
		}
		for i, refused := range []bool{false, true, false, true, false} {
			if _, conflict := errors.AsType[*ledger.Conflict](errs[i]); conflict != refused {
				t.Errorf("write %d: error %v, conflict wanted: %v", i, errs[i], refused)
			}
		}
		// A conflict shows what was committed with it, and who wrote the next entry.
		c, _ := errors.AsType[*ledger.Conflict](errs[3])
		if c.Current.Seq != 3 || c.NextOp != "op-2" {
			t.Errorf("the conflict shows sequence %d and operation %q, want 3 and op-2", c.Current.Seq, c.NextOp)
		}
		wantSeq(t, l, a.Head.Ref(), 2)
		wantSeq(t, l, b.Head.Ref(), 3)
	})
}

// TestBatchMistake: one write repeats a chunk, which breaks the transaction of all. The
// others are written all the same.
func TestBatchMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointBegin)
		l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
		a, b := created(t, l), created(t, l)
		chunk := []ledger.ChunkReceipt{{Artifact: "a", Revision: 1, Number: 1, Checksum: "d", Seq: 2}}
		first := benchNext(a.Head)
		first.Chunks = chunk
		if err := l.Commit(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		again := benchNext(first.Head)
		again.Chunks = chunk
		errs, _ := together(t, l, g, nil,
			func() error { return l.Commit(t.Context(), benchNext(b.Head)) },
			func() error { return l.Commit(t.Context(), again) },
			func() error { return l.Commit(t.Context(), benchNext(benchNext(b.Head).Head)) },
		)
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the others got %v and %v", errs[0], errs[2])
		}
		if _, conflict := errors.AsType[*ledger.Conflict](errs[1]); errs[1] == nil || conflict || errors.Is(errs[1], ledger.ErrUnavailable) {
			t.Errorf("a repeated chunk: error %v, want a plain one", errs[1])
		}
		wantSeq(t, l, a.Head.Ref(), 2)
		wantSeq(t, l, b.Head.Ref(), 3)
		wantPositions(t, l)
	})
}

// TestBatchAnswer: the transaction of all is given up behind a write that has an answer.
// What it answered there is not what is then written.
func TestBatchAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointBegin)
		l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
		a := created(t, l)
		twice := benchNext(a.Head)
		twice.Chunks = slices.Repeat([]ledger.ChunkReceipt{{Artifact: "a", Revision: 1, Number: 1, Checksum: "d", Seq: 2}}, 2)
		runs, answer := 0, 0
		errs, _ := together(t, l, g, nil,
			func() (err error) {
				answer, err = ask(t.Context(), l.writer, func(*transaction) (int, error) {
					runs++
					return runs, nil
				})
				return err
			},
			func() error { return l.Commit(t.Context(), twice) },
		)
		if errs[0] != nil || errs[1] == nil || runs != 2 || answer != 2 {
			t.Errorf("the answer is that of run %d of %d (%v); the other write got %v", answer, runs, errs[0], errs[1])
		}
	})
}

// TestBatchDamage: a record that cannot be read is the trouble of whoever asks for it, and
// not of those who write at the same moment.
func TestBatchDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointBegin)
		l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
		a, b := created(t, l), created(t, l)
		ref := a.Head.Ref()
		if err := l.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "one", URL: "https://example.com"}); err != nil {
			t.Fatal(err)
		}
		err := l.writer.do(t.Context(), &operation{apply: func(tx *transaction) error {
			return tx.exec(tx.w.stmts.updateDelivery, 0, []byte("{"), true, nil, ref.Tenant, string(ref.Task), "one")
		}})
		if err != nil {
			t.Fatal(err)
		}
		errs, _ := together(t, l, g, nil,
			func() error { return l.Want(t.Context(), ref, "one", 2, benchAt) },
			func() error { return l.Commit(t.Context(), benchNext(b.Head)) },
		)
		if !errors.Is(errs[0], ErrCorrupt) || errors.Is(errs[0], ledger.ErrUnavailable) {
			t.Errorf("whoever asks for it is told %v, want ErrCorrupt", errs[0])
		}
		if errs[1] != nil {
			t.Errorf("the other write: %v", errs[1])
		}
	})
}

// wantPositions: the feed ascends, and within each task as well.
func wantPositions(t *testing.T, l *Ledger) {
	t.Helper()
	changes, err := l.Changes(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	last := map[lifecycle.Ref]uint64{}
	for i, c := range changes {
		if c.Position != fmt.Sprint(i+1) {
			t.Errorf("item %d has position %s", i, c.Position)
		}
		if last[c.Ref]++; c.Entry.Seq != last[c.Ref] {
			t.Errorf("task %s: entry %d follows %d", c.Ref, c.Entry.Seq, last[c.Ref]-1)
		}
	}
}

func TestBatchFault(t *testing.T) {
	for _, at := range []point{pointBegin, pointCommit, pointCommitted} {
		t.Run(string(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(at)
				l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
				a, b := created(t, l), created(t, l)
				watched := make(chan error, 1)
				go func() { watched <- l.Watch(t.Context(), a.Head.Ref(), 1) }()
				commits := []ledger.Commit{benchNext(a.Head), benchNext(b.Head)}
				write := func(i int) func() error { return func() error { return l.Commit(t.Context(), commits[i]) } }
				errs, _ := together(t, l, g, errDisk, write(0), write(1))
				for i, err := range errs {
					if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, errDisk) {
						t.Errorf("write %d: error %v, want ErrUnavailable and its cause", i, err)
					}
				}
				if at != pointCommitted {
					wantSeq(t, l, a.Head.Ref(), 1)
					synctest.Wait()
					if len(watched) > 0 {
						t.Error("somebody was told of what is not committed (I4)")
					}
					for i, c := range commits {
						if err := l.Commit(t.Context(), c); err != nil {
							t.Errorf("write %d again: %v", i, err)
						}
					}
				} else if c, is := errors.AsType[*ledger.Conflict](l.Commit(t.Context(), commits[0])); !is || c.NextOp != commits[0].Head.Op {
					t.Errorf("a write whose answer was lost, again: %v, want a conflict that names its own operation", c)
				}
				wantSeq(t, l, a.Head.Ref(), 2)
				wantSeq(t, l, b.Head.Ref(), 2)
				wantPositions(t, l)
				if err := <-watched; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointCommit)
		l := open(t, t.TempDir(), Options{NoSync: true, fault: g.fault})
		c := created(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		g.armed <- struct{}{}
		answer := make(chan error)
		go func() { answer <- l.Commit(ctx, benchNext(c.Head)) }()
		<-g.reached
		wantSeq(t, l, c.Head.Ref(), 1) // written, not committed: nobody sees it
		cancel()
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want the context's", err)
		}
		g.verdict <- nil // the writer is not held up by a caller that left
		synctest.Wait()
		wantSeq(t, l, c.Head.Ref(), 2)
		if err := l.Commit(ctx, benchNext(c.Head)); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	})
}

// TestClose: what is queued is written, what comes later is refused, and every
// goroutine ends (the bubble would not end otherwise).
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(pointBegin)
		dir := t.TempDir()
		l := open(t, dir, Options{NoSync: true, fault: g.fault})
		a, b, quiet := created(t, l), created(t, l), created(t, l).Head.Ref()
		g.armed <- struct{}{}
		answers := make(chan error, 3)
		go func() { answers <- l.Commit(t.Context(), benchNext(a.Head)) }()
		<-g.reached
		go func() { answers <- l.Commit(t.Context(), benchNext(b.Head)) }()
		watched := make(chan error, 1)
		go func() { watched <- l.Watch(t.Context(), quiet, 1) }()
		synctest.Wait()
		go func() { answers <- l.Close() }()
		synctest.Wait()
		g.verdict <- nil
		for range 3 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if err := <-watched; !errors.Is(err, ErrClosed) {
			t.Errorf("a watch: error %v, want ErrClosed", err)
		}
		_, err := l.Entries(t.Context(), a.Head.Ref(), 0, 0)
		for what, err := range map[string]error{"a read": err, "a write": l.Commit(t.Context(), benchNext(a.Head))} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s: error %v, want ErrClosed", what, err)
			}
		}
		l = open(t, dir, Options{NoSync: true})
		wantSeq(t, l, a.Head.Ref(), 2)
		wantSeq(t, l, b.Head.Ref(), 2)
	})
}

// TestWatchLeavesNothing: watches that end, either way, are forgotten.
func TestWatchLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, t.TempDir(), Options{NoSync: true})
		c := created(t, l)
		ref := c.Head.Ref()
		ctx, cancel := context.WithCancel(t.Context())
		left, stayed := make(chan error), make(chan error)
		go func() { left <- l.Watch(ctx, ref, 1) }()
		go func() { stayed <- l.Watch(t.Context(), ref, 1) }()
		unknown := lifecycle.Ref{Tenant: "local", Task: a2a.TaskID(strings.Repeat("0", 36))}
		go func() { left <- l.Watch(ctx, unknown, 0) }()
		synctest.Wait()
		if n := l.Stats().Watched; n != 2 {
			t.Errorf("%d tasks are watched, want 2", n)
		}
		cancel()
		for range 2 {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		next := benchNext(c.Head)
		if err := l.Commit(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if err := <-stayed; err != nil {
			t.Error(err)
		}
		if n := l.Stats().Watched; n != 0 {
			t.Errorf("%d tasks are still watched", n)
		}
	})
}
