package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Effect implements ledger.Effects.
func (l *Ledger) Effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (lifecycle.Effect, error) {
	const effect = `SELECT e.record, e.result FROM tasks t JOIN effects e ON e.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND e.visit = ? AND e.name = ?`
	found, err := l.effects(ctx, effect, ref.Tenant, string(ref.Task), visit, name)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("effect %q in visit %d of task %s: %w", name, visit, ref, ledger.ErrNotFound)
	}
	if err != nil {
		return lifecycle.Effect{}, err
	}
	return found[0], nil
}

func (l *Ledger) effects(ctx context.Context, sql string, args ...any) ([]lifecycle.Effect, error) {
	var out []lifecycle.Effect
	err := l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		var e lifecycle.Effect
		if err := json.Unmarshal(row.ColumnRawBlob(0), &e); err != nil {
			return fmt.Errorf("%w: an effect cannot be read: %w", ErrCorrupt, err)
		}
		if row.ColumnType(1) != sqlite3.NULL {
			e.Result = append(json.RawMessage{}, row.ColumnRawBlob(1)...)
		}
		out = append(out, e)
		return nil
	}, args...)
	return out, err
}

// EffectList implements ledger.Effects. An unknown task has none.
func (l *Ledger) EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error) {
	const effects = `SELECT e.record, e.result FROM tasks t JOIN effects e ON e.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY e.visit, e.name`
	return l.effects(ctx, effects, ref.Tenant, string(ref.Task))
}

// Intend implements ledger.Effects.
func (l *Ledger) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return l.writeEffect(ctx, ref, e, func(h lifecycle.Head) error {
		if h.Fence != e.Fence || h.Cancel != nil || h.Terminal() {
			return &ledger.Conflict{Current: plain(h)}
		}
		return nil
	})
}

// Settle implements ledger.Effects. What was never intended cannot be settled.
func (l *Ledger) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	if e.Revision < 2 {
		return fmt.Errorf("settling effect %q at revision %d: the intent is the first: %w", e.Name, e.Revision, ledger.ErrEffectChanged)
	}
	return l.writeEffect(ctx, ref, e, func(lifecycle.Head) error { return nil })
}

func (l *Ledger) writeEffect(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect, allowed func(lifecycle.Head) error) error {
	result := []byte(e.Result)
	e.Result = nil
	record, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding effect %q: %w", e.Name, err)
	}
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		if err := allowed(now.head); err != nil {
			return err
		}
		var revision uint64 // none yet
		_, err := tx.queryRow(tx.w.stmts.selectEffect, func(row *sqlite3.Stmt) error {
			revision = uint64(row.ColumnInt64(0))
			return nil
		}, now.row, e.Visit, e.Name)
		if err != nil {
			return err
		}
		if revision+1 != e.Revision {
			return fmt.Errorf("effect %q in visit %d is at revision %d, not %d: %w", e.Name, e.Visit, revision, e.Revision-1, ledger.ErrEffectChanged)
		}
		return tx.exec(tx.w.stmts.upsertEffect, now.row, e.Visit, e.Name, e.Revision, record, result)
	})
}
