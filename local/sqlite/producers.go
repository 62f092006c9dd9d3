package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Producer implements ledger.Tasks.
func (l *Ledger) Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ledger.ProducerMark, error) {
	const mark = `SELECT p.seq, p.event FROM tasks t JOIN producers p ON p.task = t.row WHERE t.tenant = ? AND t.task = ? AND p.producer = ?`
	m := ledger.ProducerMark{Producer: producer}
	_, err := l.pool.queryRow(ctx, mark, func(row *sqlite3.Stmt) error {
		m.Seq, m.EventID = uint64(row.ColumnInt64(0)), row.ColumnText(1)
		return nil
	}, ref.Tenant, string(ref.Task), producer)
	l.writer.published() // the head is read behind the mark, and is not to be older
	return m, err
}

// follows refuses a commit whose producer has come further, or not so far, and one
// of an event that was answered. Most commits are of neither.
func (tx *transaction) follows(now touchedHead, c ledger.Commit) error {
	if m := c.Producer; m != nil {
		var last uint64
		_, err := tx.queryRow(tx.w.stmts.selectProducer, func(row *sqlite3.Stmt) error {
			last = uint64(row.ColumnInt64(0))
			return nil
		}, now.row, m.Producer)
		if err != nil {
			return err
		}
		if last+1 != m.Seq {
			return tx.conflict(now, c.Seen.Seq)
		}
	}
	for _, r := range c.Receipts {
		if err := tx.unanswered(now.row, r.Producer, r.EventID); err != nil {
			return err
		}
	}
	return nil
}

// Refuse implements ledger.Tasks.
func (l *Ledger) Refuse(ctx context.Context, ref lifecycle.Ref, r ledger.Refusal) error {
	r.Rejected.At = instant(r.Rejected.At)
	rejection, err := json.Marshal(r.Rejected)
	if err != nil {
		return fmt.Errorf("encoding a rejection: %w", err)
	}
	var late, payload []byte
	if r.Late != nil {
		q := *r.Late
		q.At, q.Payload, payload = instant(q.At), nil, r.Late.Payload
		if late, err = json.Marshal(q); err != nil {
			return fmt.Errorf("encoding what is quarantined: %w", err)
		}
	}
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		if err := tx.unanswered(now.row, r.Receipt.Producer, r.Receipt.EventID); err != nil {
			return err
		}
		remember, err := tx.reject(now.row, r.Rejected.Reason, rejection)
		if err != nil {
			return err
		}
		if r.Late != nil {
			kept, err := tx.quarantine(now.row, late, payload)
			if err != nil {
				return err
			}
			remember = remember || kept
		}
		if !remember {
			return nil
		}
		return tx.insertReceipt(now.row, r.Receipt)
	})
}

// quarantine counts late output, and keeps it as long as there is little.
func (tx *transaction) quarantine(row int64, record, payload []byte) (kept bool, err error) {
	_, before, err := tx.refused(row)
	if err != nil {
		return false, err
	}
	if kept = before < lifecycle.MaxQuarantined; kept {
		if err := tx.exec(tx.w.stmts.insertQuarantined, row, before+1, record, payload); err != nil {
			return kept, err
		}
	}
	return kept, tx.exec(tx.w.stmts.countQuarantined, row)
}

// Quarantine implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Quarantine(ctx context.Context, ref lifecycle.Ref) ([]ledger.Quarantined, error) {
	const quarantine = `SELECT q.record, q.payload FROM tasks t JOIN quarantine q ON q.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY q.number`
	var out []ledger.Quarantined
	err := l.pool.query(ctx, quarantine, func(row *sqlite3.Stmt) error {
		var q ledger.Quarantined
		if err := json.Unmarshal(row.ColumnRawBlob(0), &q); err != nil {
			return fmt.Errorf("%w: what is quarantined cannot be read: %w", ErrCorrupt, err)
		}
		if row.ColumnType(1) != sqlite3.NULL {
			q.Payload = append(json.RawMessage{}, row.ColumnRawBlob(1)...)
		}
		out = append(out, q)
		return nil
	}, ref.Tenant, string(ref.Task))
	return out, err
}
