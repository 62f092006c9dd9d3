package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Act implements ledger.Tasks.
func (l *Ledger) Act(ctx context.Context, ref lifecycle.Ref, a ledger.Acted) error {
	if err := a.Check(); err != nil {
		return err
	}
	a.At = instant(a.At)
	record, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encoding an operator's record: %w", err)
	}
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		var before int64
		if _, err := tx.queryRow(tx.w.stmts.selectActs, func(row *sqlite3.Stmt) error {
			before = row.ColumnInt64(0)
			return nil
		}, now.row); err != nil {
			return err
		}
		if before >= int64(a.Places()) {
			return ledger.ErrActsFull
		}
		if err := tx.exec(tx.w.stmts.insertAct, now.row, before+1, record); err != nil {
			return err
		}
		return tx.exec(tx.w.stmts.countAct, now.row)
	})
}

// Acts implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Acts(ctx context.Context, ref lifecycle.Ref) ([]ledger.Acted, error) {
	const acts = `SELECT a.record FROM tasks t JOIN acts a ON a.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY a.number`
	return records[ledger.Acted](ctx, l.pool, acts, ref.Tenant, string(ref.Task))
}
