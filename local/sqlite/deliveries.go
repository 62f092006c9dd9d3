package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Want implements ledger.Endpoints.
func (l *Ledger) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		stored, found, err := tx.delivery(ref, id)
		switch {
		case err != nil:
			return err
		case !found:
			return noEndpoint(ref, id)
		case seq <= stored.Wanted:
			return nil
		}
		return tx.exec(tx.w.stmts.raiseWanted, seq, nanos(now), ref.Tenant, string(ref.Task), id)
	}})
}

// Deliver implements ledger.Endpoints.
func (l *Ledger) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	encoded, err := encodeDelivery(d)
	if err != nil {
		return err
	}
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		stored, found, err := tx.delivery(ref, id)
		switch {
		case err != nil:
			return err
		case !found:
			return noEndpoint(ref, id)
		case stored.Incarnation != d.Incarnation:
			return fmt.Errorf("endpoint %q of task %s was made anew: %w", id, ref, ledger.ErrDeliveryChanged)
		case stored.Revision+1 != d.Revision:
			return fmt.Errorf("endpoint %q of task %s is at revision %d, not %d: %w", id, ref, stored.Revision, d.Revision-1, ledger.ErrDeliveryChanged)
		case encoded.idle && stored.Wanted > d.Cursor:
			return fmt.Errorf("endpoint %q of task %s is to get entry %d and has got to %d: %w", id, ref, stored.Wanted, d.Cursor, ledger.ErrDeliveryChanged)
		}
		return tx.exec(tx.w.stmts.updateDelivery, d.Revision, encoded.state, encoded.idle, encoded.dueAt, ref.Tenant, string(ref.Task), id)
	}})
}

// DueDeliveries implements ledger.Endpoints. The index has everything that it asks
// for.
func (l *Ledger) DueDeliveries(ctx context.Context, before time.Time, after *ledger.DeliveryCursor, limit int) (ledger.DeliveryPage, error) {
	var where conditions
	where.and("due_at <= ?", nanos(before))
	if after != nil {
		where.and("(due_at, tenant, task, id) > (?, ?, ?, ?)", nanos(after.DueAt), after.Ref.Tenant, string(after.Ref.Task), after.ID)
	}
	var page ledger.DeliveryPage
	var last time.Time
	err := l.pool.query(ctx, dueDeliveries(where), func(row *sqlite3.Stmt) error {
		if limit > 0 && len(page.Due) == limit {
			end := page.Due[limit-1]
			page.Next = &ledger.DeliveryCursor{DueAt: last, Ref: end.Ref, ID: end.ID}
			return nil
		}
		last = columnInstant(row, 0)
		page.Due = append(page.Due, ledger.DueDelivery{Ref: lifecycle.Ref{Tenant: row.ColumnText(1), Task: a2a.TaskID(row.ColumnText(2))}, ID: row.ColumnText(3)})
		return nil
	}, append(where.args, oneMore(limit))...)
	return page, err
}

func dueDeliveries(where conditions) string {
	return "SELECT due_at, tenant, task, id FROM endpoints WHERE " + where.text() + " ORDER BY due_at, tenant, task, id LIMIT ?"
}
