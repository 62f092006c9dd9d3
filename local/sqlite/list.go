package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
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
	sql := "SELECT head FROM " + tasksFor(q) + " WHERE " + where.text() + " ORDER BY status_at DESC, task DESC LIMIT ?"
	var page ledger.Page
	err := l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		if q.Limit > 0 && len(page.Heads) == q.Limit {
			last := page.Heads[q.Limit-1]
			page.Next = &ledger.ListCursor{StatusAt: last.StatusAt, Task: last.Task}
			return nil
		}
		h, err := decodeHead(row.ColumnRawBlob(0))
		page.Heads = append(page.Heads, h)
		return err
	}, append(where.args, oneMore(q.Limit))...)
	l.caughtUp(page.Heads)
	return page, err
}

// Count implements ledger.Index. What is counted by agent and state alone is kept
// count of, less what has expired and is not purged yet; a conversation's tasks, those of
// an agent version, and the latest ones, are walked through in their index.
func (l *Ledger) Count(ctx context.Context, q ledger.ListQuery) (ledger.Counted, error) {
	if q.ContextID != "" || q.AgentVersion != 0 || !q.Since.IsZero() {
		where := filter(q)
		return l.number(ctx, "SELECT count(*) FROM "+tasksFor(q)+" WHERE "+where.text(), where.args)
	}
	all, gone := counted(q)
	sql := "SELECT (SELECT ifnull(sum(tasks), 0) FROM totals WHERE " + all.text() + ")"
	if !q.Now.IsZero() {
		sql += " - (SELECT count(*) FROM tasks INDEXED BY tasks_expiry WHERE " + gone.text() + ")"
		all.args = append(all.args, gone.args...)
	}
	return l.number(ctx, sql, all.args)
}

func (l *Ledger) number(ctx context.Context, sql string, args []any) (n ledger.Counted, err error) {
	_, err = l.pool.queryRow(ctx, sql, func(row *sqlite3.Stmt) error {
		n.Tasks = row.ColumnInt(0)
		return nil
	}, args...)
	return n, err
}

// counted are the conditions of what is kept count of, and of what is expired of it.
func counted(q ledger.ListQuery) (all, gone conditions) {
	gone.and("expires_at <= ?", nanos(q.Now))
	for _, c := range []*conditions{&all, &gone} {
		c.and("tenant = ?", q.Tenant)
		if q.Agent != "" {
			c.and("agent = ?", q.Agent)
		}
		if q.State != "" {
			c.and("state = ?", string(q.State))
		}
	}
	return all, gone
}

// Due implements ledger.Index.
func (l *Ledger) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	var where conditions
	where.and("due_at <= ?", nanos(before))
	if after != nil {
		where.and("(due_at, tenant, task) > (?, ?, ?)", nanos(after.DueAt), after.Ref.Tenant, string(after.Ref.Task))
	}
	sql := "SELECT head, due_at, tenant, task FROM tasks WHERE " + where.text() + " ORDER BY due_at, tenant, task LIMIT ?"
	var page ledger.DuePage
	var last ledger.DueCursor
	seen := 0
	err := l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		if limit > 0 && seen == limit {
			page.Next = &last
			return nil
		}
		seen++
		last = ledger.DueCursor{DueAt: instant(time.Unix(0, row.ColumnInt64(1))), Ref: lifecycle.Ref{Tenant: row.ColumnText(2), Task: a2a.TaskID(row.ColumnText(3))}}
		if h, broken := decodeHead(row.ColumnRawBlob(0)); broken == nil {
			page.Heads = append(page.Heads, h)
		} else {
			page.Unread = append(page.Unread, ledger.Unread{Ref: last.Ref, Err: broken})
		}
		return nil
	}, append(where.args, oneMore(limit))...)
	l.caughtUp(page.Heads)
	return page, err
}

// caughtUp waits until no head in memory is older than one that was read.
func (l *Ledger) caughtUp(heads []lifecycle.Head) {
	for _, h := range heads {
		l.writer.caughtUp(h.Ref(), h.Seq)
	}
}

// tasksFor names the index that a query walks: the one whose tasks are fewest. All are
// in the order of lists.
func tasksFor(q ledger.ListQuery) string {
	switch {
	case q.ContextID != "":
		return "tasks INDEXED BY tasks_context"
	case q.Agent != "" && q.State != "":
		return "tasks INDEXED BY tasks_state"
	case q.Agent != "":
		return "tasks INDEXED BY tasks_agent"
	}
	return "tasks INDEXED BY tasks_status"
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
	if q.AgentVersion != 0 {
		c.and("version = ?", q.AgentVersion)
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
