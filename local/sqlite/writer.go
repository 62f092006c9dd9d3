package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// writer is the one goroutine that writes.
type writer struct {
	conn     *sqlite3.Conn
	stmts    statements
	queue    *queue
	heads    *heads
	watchers *watchers
	count    *counters
	log      *logKeeper
	fault    func(point) error

	// publishing is closed when the heads in memory are those that the transaction has
	// written which is being committed; nil: none is.
	publishing atomic.Pointer[chan struct{}]

	// position is the last one that was given to an entry, row to a task. What is left
	// of a task that is purged stands under its row, so no other may get it.
	position, row int64
	tx            transaction
	woken         []lifecycle.Ref
	stopped       chan struct{}
}

func (w *writer) loop() {
	defer close(w.stopped)
	for {
		batch := w.queue.take(maxBatch)
		if len(batch) == 0 {
			return
		}
		w.write(batch)
		w.log.keep(w.conn)
	}
}

// write commits a batch, wakes the watchers, and tells its callers.
func (w *writer) write(batch []*operation) {
	err := w.commit(batch)
	if err != nil && errors.Is(err, sqlite3.CONSTRAINT) {
		if len(batch) == 1 {
			batch[0].result = fmt.Errorf("the write repeats what must be new: %w", err)
			close(batch[0].done)
			return
		}
		// One of them broke the transaction of all. Apart, only it fails.
		for i := range batch {
			w.write(batch[i : i+1])
		}
		return
	}
	// Watchers are woken before callers are answered: whoever watches after its own
	// answer is not woken by its own commit.
	w.woken = w.woken[:0]
	for ref, t := range w.tx.touched {
		if t.appended {
			w.woken = append(w.woken, ref)
		}
	}
	if len(w.woken) > 0 {
		w.watchers.wake(w.woken)
	}
	for _, op := range batch {
		switch {
		case err != nil:
			op.result = unavailable(err)
			w.count.failed.Add(1)
		case op.result != nil:
			w.count.refused.Add(1)
		default:
			w.count.commits.Add(1)
			w.count.entries.Add(uint64(op.entries))
		}
		close(op.done)
	}
}

// commit runs a batch as one transaction. After an error nothing of it is seen,
// and it is not known whether a crash right now would bring it back.
func (w *writer) commit(batch []*operation) error {
	w.tx.begin(w)
	err := w.fault(pointBegin)
	if err == nil {
		err = w.stmts.begin.Exec()
	}
	if err != nil {
		return w.giveUp(err)
	}
	for _, op := range batch {
		op.result = op.apply(&w.tx)
		if w.tx.broken != nil {
			return w.giveUp(w.tx.broken)
		}
	}
	if err = w.fault(pointCommit); err == nil {
		err = w.publish()
	}
	if err != nil {
		return w.giveUp(err)
	}
	w.position, w.row = w.tx.position, w.tx.row
	w.count.batches.Add(1)
	return w.fault(pointCommitted)
}

// publish commits, and shows the heads that were written to those who read them from
// memory.
func (w *writer) publish() error {
	done := make(chan struct{})
	w.publishing.Store(&done)
	defer close(done)
	defer w.publishing.Store(nil)
	if err := w.stmts.commit.Exec(); err != nil {
		return err
	}
	_ = w.fault(pointVisible) // it is committed, whatever is wrong now
	for ref, t := range w.tx.touched {
		if t.purged {
			w.heads.drop(ref)
		} else {
			w.heads.put(t.stored)
		}
	}
	return nil
}

// published waits until the heads in memory are as new as what a reader of the file may
// have seen: who reads a head behind that does not read an older one.
func (w *writer) published() {
	if done := w.publishing.Load(); done != nil {
		<-*done
	}
}

// caughtUp is published for who has read of an entry of a task, and waits for nobody
// where that is in memory.
func (w *writer) caughtUp(ref lifecycle.Ref, seq uint64) {
	if known, is := w.heads.seq(ref); is && known < seq {
		w.published()
	}
}

func (w *writer) giveUp(err error) error {
	clear(w.tx.touched)
	if !w.conn.GetAutocommit() {
		err = errors.Join(err, w.stmts.rollback.Exec())
	}
	return err
}

// do hands an operation to the writer and waits for the transaction that it was
// part of. When ctx ends first, the write may still happen.
func (w *writer) do(ctx context.Context, op *operation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op.done = make(chan struct{})
	if err := w.queue.put(op); err != nil {
		return err
	}
	select {
	case <-op.done:
		return op.result
	case <-ctx.Done():
		return ctx.Err()
	}
}

// on is do for a write to a task that is there.
func (l *Ledger) on(ctx context.Context, ref lifecycle.Ref, apply func(*transaction, touchedHead) error) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		now, err := tx.head(ref)
		if err != nil {
			return err
		}
		return apply(tx, now)
	}})
}

// ask is do for an operation with an answer. What it said last counts: the transaction
// that it ran in first may have been given up. When ctx ends before, the writer may still
// be at work on the answer, and nobody looks at it.
func ask[T any](ctx context.Context, w *writer, apply func(*transaction) (T, error)) (T, error) {
	var answer, none T
	err := w.do(ctx, &operation{apply: func(tx *transaction) (err error) {
		answer, err = apply(tx)
		return err
	}})
	if err != nil {
		return none, err
	}
	return answer, nil
}
