package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// belonging is a table of what belongs to tasks: how a task's rows are found in it, and
// what its primary key is.
type belonging struct {
	table string
	named bool // by tenant and task, otherwise by row
	key   []string
}

// belongings are all of them, in the order in which they are purged: tokens and secrets
// first.
var belongings = [...]belonging{
	{table: "parked", key: []string{"task", "pause"}},
	{table: "endpoints", named: true, key: []string{"row"}},
	{table: "entries", key: []string{"position"}},
	{table: "artifacts", key: []string{"task", "id"}},
	{table: "chunks", key: []string{"task", "artifact", "revision", "number"}},
	{table: "receipts", key: []string{"task", "producer", "event"}},
	{table: "producers", key: []string{"task", "producer"}},
	{table: "rejections", key: []string{"task", "number"}},
	{table: "quarantine", key: []string{"task", "number"}},
	{table: "acts", key: []string{"task", "number"}},
	{table: "effects", key: []string{"task", "visit", "name"}},
	{table: "findings", named: true, key: []string{"tenant", "task", "kind"}},
}

// remove is the statement that removes some of a task's rows.
func (b belonging) remove() string {
	key, of := strings.Join(b.key, ", "), "task = ?"
	if b.named {
		of = "tenant = ? AND task = ?"
	}
	return fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE %s LIMIT ?)", b.table, key, key, b.table, of)
}

// Expired implements ledger.Purges.
func (l *Ledger) Expired(ctx context.Context, before time.Time, after *ledger.ExpiredCursor, limit int) (ledger.ExpiredPage, error) {
	var where conditions
	where.and("expires_at <= ?", nanos(before))
	if after != nil {
		where.and("(expires_at, tenant, task) > (?, ?, ?)", nanos(after.ExpiresAt), after.Ref.Tenant, string(after.Ref.Task))
	}
	var page ledger.ExpiredPage
	var last time.Time
	err := l.pool.query(ctx, expiredTasks(where), func(row *sqlite3.Stmt) error {
		if limit > 0 && len(page.Refs) == limit {
			page.Next = &ledger.ExpiredCursor{ExpiresAt: last, Ref: page.Refs[limit-1]}
			return nil
		}
		last = columnInstant(row, 0)
		page.Refs = append(page.Refs, lifecycle.Ref{Tenant: row.ColumnText(1), Task: a2a.TaskID(row.ColumnText(2))})
		return nil
	}, append(append(where.args, where.args...), oneMore(limit))...)
	return page, err
}

// expiredTasks finds tasks, and what is left of those whose purge has begun. The
// conditions' arguments are needed twice.
func expiredTasks(where conditions) string {
	const columns = "SELECT expires_at, tenant, task FROM "
	return columns + "tasks INDEXED BY tasks_expiry WHERE " + where.text() + " UNION ALL " + columns + "purges INDEXED BY purges_expiry WHERE " + where.text() +
		" ORDER BY expires_at, tenant, task LIMIT ?"
}

// purge finds a purge that has begun.
func (tx *transaction) purge(ref lifecycle.Ref) (s stored, begun bool, err error) {
	var encoded []byte
	begun, err = tx.queryRow(tx.w.stmts.selectPurge, func(row *sqlite3.Stmt) error {
		s.row, encoded = row.ColumnInt64(0), row.ColumnBlob(1, nil)
		return nil
	}, ref.Tenant, string(ref.Task))
	if err == nil && begun {
		s.head, err = decodeHead(encoded)
	}
	return s, begun, err
}

// BeginPurge implements ledger.Purges. The head moves out of the table of tasks, which
// is where every other reader and writer looks for it.
func (l *Ledger) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	return ask(ctx, l.writer, func(tx *transaction) (p ledger.Purge, err error) {
		s, begun, err := tx.purge(ref)
		if err != nil {
			return p, err
		}
		if !begun {
			t, err := tx.head(ref)
			if err != nil {
				return p, err
			}
			if s = t.stored; !s.head.Expired(now) {
				return p, &ledger.NotExpired{Ref: ref, ExpiresAt: s.head.ExpiresAt}
			}
			encoded, err := encodeHead(s.head)
			if err != nil {
				return p, err
			}
			if err := tx.exec(tx.w.stmts.insertPurge, s.row, ref.Tenant, string(ref.Task), nanos(s.head.ExpiresAt), encoded); err != nil {
				return p, err
			}
			if err := tx.exec(tx.w.stmts.deleteTask, s.row); err != nil {
				return p, err
			}
			tx.touched[ref] = touchedHead{purged: true}
		}
		return ledger.Purge{Ref: ref, ExpiresAt: instant(s.head.ExpiresAt), Key: s.head.Key}, nil
	})
}

// PurgePiece implements ledger.Purges.
func (l *Ledger) PurgePiece(ctx context.Context, ref lifecycle.Ref) (int, bool, error) {
	removed, err := ask(ctx, l.writer, func(tx *transaction) (int, error) {
		s, begun, err := tx.purge(ref)
		if err != nil {
			return 0, err
		}
		left := ledger.MaxPurged
		for i, b := range belongings {
			if !begun || left == 0 {
				break
			}
			of := []any{s.row}
			if b.named {
				of = []any{ref.Tenant, string(ref.Task)}
			}
			if err := tx.exec(tx.w.stmts.purge[i], append(of, left)...); err != nil {
				return 0, err
			}
			left -= int(tx.w.conn.Changes())
		}
		return ledger.MaxPurged - left, nil
	})
	return removed, removed == ledger.MaxPurged, err
}

// EndPurge implements ledger.Purges.
func (l *Ledger) EndPurge(ctx context.Context, p ledger.Purge, forgetAt time.Time) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		if err := tx.expireKey(p, forgetAt); err != nil {
			return err
		}
		s, begun, err := tx.purge(p.Ref)
		if err != nil || !begun {
			return err
		}
		return tx.exec(tx.w.stmts.deletePurge, s.row)
	}})
}

// expireKey makes a note of the task's key, if that is still its own.
func (tx *transaction) expireKey(p ledger.Purge, forgetAt time.Time) error {
	note, found, err := tx.key(ledger.Key{Tenant: p.Ref.Tenant, Hash: p.Key})
	if err != nil || !found || note.Task != p.Ref.Task || note.Expired() {
		return err
	}
	note.ForgetAt = instant(forgetAt)
	encoded, err := json.Marshal(note)
	if err != nil {
		return fmt.Errorf("encoding a submission key: %w", err)
	}
	return tx.exec(tx.w.stmts.expireKey, encoded, nanos(forgetAt), p.Ref.Tenant, string(p.Key))
}

// ForgetKeys implements ledger.Purges.
func (l *Ledger) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	return ask(ctx, l.writer, func(tx *transaction) (int, error) {
		err := tx.exec(tx.w.stmts.forgetKeys, nanos(before), orAll(limit))
		return int(tx.w.conn.Changes()), err
	})
}
