package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Receipt implements ledger.Tasks.
func (l *Ledger) Receipt(ctx context.Context, ref lifecycle.Ref, producer, eventID string) (ledger.Receipt, error) {
	const receipt = `SELECT ` + receiptColumns + ` FROM tasks t JOIN receipts r ON r.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND r.producer = ? AND r.event = ?`
	r := ledger.Receipt{Producer: producer, EventID: eventID}
	found, err := l.pool.queryRow(ctx, receipt, func(row *sqlite3.Stmt) error {
		scanReceipt(row, &r)
		return nil
	}, ref.Tenant, string(ref.Task), producer, eventID)
	if err == nil && !found {
		err = noReceipt(ref, eventID)
	}
	if err != nil {
		return ledger.Receipt{}, err
	}
	l.writer.caughtUp(ref, r.Seq)
	return r, nil
}

// receiptColumns are what scanReceipt reads of receipts r.
const receiptColumns = "r.digest, r.seq, r.hits, r.fence, r.reason, r.detail, r.op"

func scanReceipt(row *sqlite3.Stmt, r *ledger.Receipt) {
	r.Digest, r.Seq, r.Hits = lifecycle.Digest(row.ColumnText(0)), uint64(row.ColumnInt64(1)), row.ColumnInt(2)
	r.Fence, r.Reason, r.Detail, r.Op = uint64(row.ColumnInt64(3)), lifecycle.Reason(row.ColumnText(4)), row.ColumnText(5), row.ColumnText(6)
}

func (tx *transaction) insertReceipt(row int64, r ledger.Receipt) error {
	return tx.exec(tx.w.stmts.insertReceipt, row, r.Producer, r.EventID, string(r.Digest), r.Seq, r.Hits, r.Fence, string(r.Reason), r.Detail, r.Op)
}

// unanswered refuses an event that has a receipt.
func (tx *transaction) unanswered(row int64, producer, eventID string) error {
	r := ledger.Receipt{Producer: producer, EventID: eventID}
	found, err := tx.queryRow(tx.w.stmts.selectReceipt, func(row *sqlite3.Stmt) error {
		scanReceipt(row, &r)
		return nil
	}, row, producer, eventID)
	if err != nil || !found {
		return err
	}
	return &ledger.ReceiptKnown{Receipt: r}
}

// Hit implements ledger.Tasks.
func (l *Ledger) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		if err := tx.exec(tx.w.stmts.hitReceipt, now.row, producer, eventID); err != nil {
			return err
		}
		if tx.w.conn.Changes() == 0 {
			return noReceipt(ref, eventID)
		}
		return tx.exec(tx.w.stmts.countHit, now.row)
	})
}

func noReceipt(ref lifecycle.Ref, eventID string) error {
	return fmt.Errorf("event %q of task %s: %w", eventID, ref, ledger.ErrNotFound)
}

// Reject implements ledger.Tasks.
func (l *Ledger) Reject(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected) error {
	r.At = instant(r.At)
	record, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding a rejection: %w", err)
	}
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		_, err := tx.reject(now.row, r.Reason, record)
		return err
	})
}

// reject counts a rejection, and keeps it as long as there are few.
func (tx *transaction) reject(row int64, reason lifecycle.Reason, record []byte) (kept bool, err error) {
	before, _, err := tx.refused(row)
	if err != nil {
		return false, err
	}
	incidents := 0
	if reason == lifecycle.ConflictingContent {
		incidents = 1
	}
	if kept = before < lifecycle.MaxRejections; kept {
		if err := tx.exec(tx.w.stmts.insertRejection, row, before+1, record); err != nil {
			return kept, err
		}
	}
	return kept, tx.exec(tx.w.stmts.countRejected, incidents, row)
}

// refused counts what was refused so far, and what of it is quarantined.
func (tx *transaction) refused(row int64) (rejections, quarantined int64, err error) {
	_, err = tx.queryRow(tx.w.stmts.selectRejections, func(row *sqlite3.Stmt) error {
		rejections, quarantined = row.ColumnInt64(0), row.ColumnInt64(1)
		return nil
	}, row)
	return rejections, quarantined, err
}

// Rejections implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error) {
	const rejections = `SELECT r.record FROM tasks t JOIN rejections r ON r.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY r.number`
	return records[ledger.Rejected](ctx, l.pool, rejections, ref.Tenant, string(ref.Task))
}

// Counts implements ledger.Tasks.
func (l *Ledger) Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error) {
	const counts = `SELECT rejections, incidents, hits, quarantined, acts FROM tasks WHERE tenant = ? AND task = ?`
	var c ledger.Counts
	found, err := l.pool.queryRow(ctx, counts, func(row *sqlite3.Stmt) error {
		c = ledger.Counts{Rejections: row.ColumnInt(0), Incidents: row.ColumnInt(1), Hits: row.ColumnInt(2), Quarantined: row.ColumnInt(3), Acts: row.ColumnInt(4)}
		return nil
	}, ref.Tenant, string(ref.Task))
	if err == nil && !found {
		err = noTask(ref)
	}
	return c, err
}
