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
	const receipt = `SELECT r.digest, r.seq, r.hits FROM tasks t JOIN receipts r ON r.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND r.producer = ? AND r.event = ?`
	r := ledger.Receipt{Producer: producer, EventID: eventID}
	found, err := l.pool.queryRow(ctx, receipt, func(row *sqlite3.Stmt) error {
		r.Digest, r.Seq, r.Hits = lifecycle.Digest(row.ColumnText(0)), uint64(row.ColumnInt64(1)), row.ColumnInt(2)
		return nil
	}, ref.Tenant, string(ref.Task), producer, eventID)
	if err == nil && !found {
		err = noReceipt(ref, eventID)
	}
	if err != nil {
		return ledger.Receipt{}, err
	}
	return r, nil
}

// Hit implements ledger.Tasks.
func (l *Ledger) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		now, err := tx.head(ref)
		if err != nil {
			return err
		}
		if err := tx.exec(tx.w.stmts.hitReceipt, now.row, producer, eventID); err != nil {
			return err
		}
		if tx.w.conn.Changes() == 0 {
			return noReceipt(ref, eventID)
		}
		return tx.exec(tx.w.stmts.countHit, now.row)
	}})
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
	incidents := 0
	if r.Reason == lifecycle.ConflictingContent {
		incidents = 1
	}
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		now, err := tx.head(ref)
		if err != nil {
			return err
		}
		var before int64
		_, err = tx.queryRow(tx.w.stmts.selectRejections, func(row *sqlite3.Stmt) error {
			before = row.ColumnInt64(0)
			return nil
		}, now.row)
		if err != nil {
			return err
		}
		if before < lifecycle.MaxRejections {
			if err := tx.exec(tx.w.stmts.insertRejection, now.row, before+1, record); err != nil {
				return err
			}
		}
		return tx.exec(tx.w.stmts.countRejected, incidents, now.row)
	}})
}

// Rejections implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error) {
	const rejections = `SELECT r.record FROM tasks t JOIN rejections r ON r.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY r.number`
	return records[ledger.Rejected](ctx, l.pool, rejections, ref.Tenant, string(ref.Task))
}

// Counts implements ledger.Tasks.
func (l *Ledger) Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error) {
	const counts = `SELECT rejections, incidents, hits FROM tasks WHERE tenant = ? AND task = ?`
	var c ledger.Counts
	found, err := l.pool.queryRow(ctx, counts, func(row *sqlite3.Stmt) error {
		c = ledger.Counts{Rejections: row.ColumnInt(0), Incidents: row.ColumnInt(1), Hits: row.ColumnInt(2)}
		return nil
	}, ref.Tenant, string(ref.Task))
	if err == nil && !found {
		err = noTask(ref)
	}
	return c, err
}
