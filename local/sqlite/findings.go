package sqlite

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Note implements ledger.Findings.
func (l *Ledger) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	if err := ledger.CheckKind(kind); err != nil {
		return err
	}
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		return tx.exec(tx.w.stmts.noteFinding, ref.Tenant, string(ref.Task), kind, nanos(at), nanos(at), times, nanos(at.Add(-spell)))
	}})
}

// Forget implements ledger.Findings.
func (l *Ledger) Forget(ctx context.Context, f ledger.Finding, kind string) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		return tx.exec(tx.w.stmts.forgetFinding, f.Ref.Tenant, string(f.Ref.Task), kind, nanos(f.Last), f.Count)
	}})
}

// Found implements ledger.Findings. The index has everything that it asks for.
func (l *Ledger) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	var where conditions
	where.and("kind = ?", q.Kind)
	if !q.All {
		where.and("tenant = ?", q.Tenant)
	}
	if !q.Since.IsZero() {
		where.and("last_at >= ?", nanos(q.Since))
	}
	var page ledger.FindingPage
	sql := "SELECT tenant, task, first_at, last_at, count FROM findings WHERE " + where.text() + " ORDER BY tenant DESC, last_at DESC, task DESC LIMIT ?"
	err := l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		if q.Limit > 0 && len(page.Findings) == q.Limit {
			page.More = true
			return nil
		}
		page.Findings = append(page.Findings, ledger.Finding{
			Ref:   lifecycle.Ref{Tenant: row.ColumnText(0), Task: a2a.TaskID(row.ColumnText(1))},
			First: columnInstant(row, 2), Last: columnInstant(row, 3), Count: row.ColumnInt(4),
		})
		return nil
	}, append(where.args, oneMore(q.Limit))...)
	return page, err
}
