package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// List implements ledger.Index.
func (l *Ledger) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	where := filter(q)
	if q.After != nil {
		at := nanos(q.After.StatusAt)
		where.and("(status_at, task) < (?, ?)", at, string(q.After.Task))
	}
	sql := "SELECT head FROM tasks WHERE " + where.text() + " ORDER BY status_at DESC, task DESC LIMIT ?"
	heads, more, err := l.page(ctx, sql, q.Limit, where.args)
	page := ledger.Page{Heads: heads}
	if more {
		last := heads[len(heads)-1]
		page.Next = &ledger.ListCursor{StatusAt: last.StatusAt, Task: last.Task}
	}
	return page, err
}

// Count implements ledger.Index. It walks the tenant's part of an index.
func (l *Ledger) Count(ctx context.Context, q ledger.ListQuery) (int, error) {
	where := filter(q)
	n := 0
	_, err := l.pool.queryRow(ctx, "SELECT count(*) FROM tasks WHERE "+where.text(), func(row *sqlite3.Stmt) error {
		n = row.ColumnInt(0)
		return nil
	}, where.args...)
	return n, err
}

// Due implements ledger.Index.
func (l *Ledger) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	var where conditions
	where.and("due_at <= ?", nanos(before))
	if after != nil {
		where.and("(due_at, tenant, task) > (?, ?, ?)", nanos(after.DueAt), after.Ref.Tenant, string(after.Ref.Task))
	}
	sql := "SELECT head FROM tasks WHERE " + where.text() + " ORDER BY due_at, tenant, task LIMIT ?"
	heads, more, err := l.page(ctx, sql, limit, where.args)
	page := ledger.DuePage{Heads: heads}
	if more {
		last := heads[len(heads)-1]
		page.Next = &ledger.DueCursor{DueAt: last.DueAt, Ref: last.Ref()}
	}
	return page, err
}

// page reads up to limit heads and says whether there are more.
func (l *Ledger) page(ctx context.Context, sql string, limit int, args []any) (heads []lifecycle.Head, more bool, err error) {
	ask := orAll(limit)
	if ask > 0 {
		ask++
	}
	err = l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		if limit > 0 && len(heads) == limit {
			more = true
			return nil
		}
		h, err := decodeHead(row.ColumnRawBlob(0))
		heads = append(heads, h)
		return err
	}, append(args, ask)...)
	return heads, more, err
}

// filter is what List and Count have in common. A tenant is always part of it
// (I10).
func filter(q ledger.ListQuery) conditions {
	var c conditions
	c.and("tenant = ?", q.Tenant)
	if q.ContextID != "" {
		c.and("context = ?", q.ContextID)
	}
	if q.Agent != "" {
		c.and("agent = ?", q.Agent)
	}
	if q.State != "" {
		c.and("state = ?", string(q.State))
	}
	if !q.Since.IsZero() {
		c.and("status_at >= ?", nanos(q.Since))
	}
	if !q.Now.IsZero() {
		c.and("(expires_at IS NULL OR expires_at > ?)", nanos(q.Now))
	}
	return c
}

// conditions are joined by AND.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) and(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

func (c *conditions) text() string { return strings.Join(c.parts, " AND ") }
