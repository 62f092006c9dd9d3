package sqlite

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Park implements ledger.Tokens.
func (l *Ledger) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (ledger.Parked, error) {
	t.EnteredAt = instant(t.EnteredAt)
	var enteredAt int64 // 0 for none
	if !t.EnteredAt.IsZero() {
		enteredAt = nanos(t.EnteredAt)
	}
	return ask(ctx, l.writer, func(tx *transaction) (p ledger.Parked, err error) {
		now, err := tx.head(ref)
		if err != nil {
			return p, err
		}
		_, err = tx.queryRow(tx.w.stmts.selectParked, func(row *sqlite3.Stmt) error {
			p = scanParked(row)
			return nil
		}, now.row, pause)
		if err != nil || p.Token.Value != "" && !p.Token.Before(t) {
			return p, err
		}
		p.Token = t
		return p, tx.exec(tx.w.stmts.upsertToken, now.row, pause, t.Value, t.Generation, enteredAt, t.Attempt)
	})
}

// Parked implements ledger.Tokens.
func (l *Ledger) Parked(ctx context.Context, ref lifecycle.Ref, pause int) (ledger.Parked, error) {
	const parked = `SELECT p.token, p.generation, p.entered_at, p.attempt, p.answered FROM tasks t JOIN parked p ON p.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND p.pause = ?`
	var p ledger.Parked
	_, err := l.pool.queryRow(ctx, parked, func(row *sqlite3.Stmt) error {
		p = scanParked(row)
		return nil
	}, ref.Tenant, string(ref.Task), pause)
	return p, err
}

func scanParked(row *sqlite3.Stmt) ledger.Parked {
	p := ledger.Parked{
		Token:    ledger.Token{Value: row.ColumnText(0), Generation: uint64(row.ColumnInt64(1)), Attempt: row.ColumnInt(3)},
		Answered: row.ColumnBool(4),
	}
	if at := row.ColumnInt64(2); at != 0 {
		p.Token.EnteredAt = time.Unix(0, at).UTC()
	}
	return p
}
