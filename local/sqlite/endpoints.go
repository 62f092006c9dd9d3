package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// encodedEndpoint is an endpoint as its row has it: what PutEndpoint replaces, what
// Deliver replaces, and what both leave alone, apart.
type encodedEndpoint struct {
	id        string
	config    []byte // JSON, without all that follows
	secrets   []byte
	createdAt any // NULL: nobody said when
	wanted    uint64
	delivery  encodedDelivery
}

// encodedDelivery is a delivery without what is wanted.
type encodedDelivery struct {
	revision uint64
	state    []byte // JSON, without the rest
	idle     bool
	dueAt    any // NULL: nobody must look
}

func encodeEndpoint(e ledger.Endpoint) (out encodedEndpoint, err error) {
	if err := e.Check(); err != nil {
		return out, err
	}
	out = encodedEndpoint{id: e.ID, secrets: e.Secrets, createdAt: nanosOrNull(e.CreatedAt), wanted: e.Delivery.Wanted}
	e.Delivery.Revision = 0
	if out.delivery, err = encodeDelivery(e.Delivery); err != nil {
		return out, err
	}
	e.ID, e.Secrets, e.CreatedAt, e.Delivery = "", nil, time.Time{}, ledger.Delivery{}
	if out.config, err = json.Marshal(e); err != nil {
		return out, fmt.Errorf("encoding endpoint %q: %w", out.id, err)
	}
	return out, nil
}

func encodeDelivery(d ledger.Delivery) (out encodedDelivery, err error) {
	if err := d.Check(); err != nil {
		return out, err
	}
	out = encodedDelivery{revision: d.Revision, idle: d.Idle(), dueAt: nanosOrNull(d.DueAt)}
	d.Revision, d.Wanted, d.DueAt = 0, 0, time.Time{}
	d.LeaseUntil, d.NextAt = instant(d.LeaseUntil), instant(d.NextAt)
	if out.state, err = json.Marshal(d); err != nil {
		return out, fmt.Errorf("encoding a delivery: %w", err)
	}
	return out, nil
}

func nanosOrNull(t time.Time) any { return orNull(nanos(t), !t.IsZero()) }

// endpointColumns are read by scanEndpoint.
const endpointColumns = `id, config, secrets, created_at, wanted, revision, delivery, due_at`

func scanEndpoint(row *sqlite3.Stmt) (ledger.Endpoint, error) {
	var e ledger.Endpoint
	err := errors.Join(json.Unmarshal(row.ColumnRawBlob(1), &e), json.Unmarshal(row.ColumnRawBlob(6), &e.Delivery))
	if err != nil {
		return e, fmt.Errorf("%w: an endpoint cannot be read: %w", ErrCorrupt, err)
	}
	e.ID, e.CreatedAt, e.Delivery.DueAt = row.ColumnText(0), columnInstant(row, 3), columnInstant(row, 7)
	if secrets := row.ColumnRawBlob(2); len(secrets) > 0 {
		e.Secrets = append([]byte{}, secrets...)
	}
	e.Delivery.Wanted, e.Delivery.Revision = uint64(row.ColumnInt64(4)), uint64(row.ColumnInt64(5))
	return e, nil
}

// columnInstant reads an instant; zero for NULL.
func columnInstant(row *sqlite3.Stmt, column int) time.Time {
	if row.ColumnType(column) == sqlite3.NULL {
		return time.Time{}
	}
	return time.Unix(0, row.ColumnInt64(column)).UTC()
}

// insertEndpoint writes one that is new.
func (tx *transaction) insertEndpoint(ref lifecycle.Ref, e encodedEndpoint) error {
	return tx.exec(tx.w.stmts.insertEndpoint, ref.Tenant, string(ref.Task), e.id, e.config, e.secrets, e.createdAt, e.wanted,
		e.delivery.revision, e.delivery.state, e.delivery.idle, e.delivery.dueAt)
}

// delivery reads how far a delivery is.
func (tx *transaction) delivery(ref lifecycle.Ref, id string) (d ledger.Delivery, found bool, err error) {
	var broken error // of this record alone, and none that breaks the transaction
	found, err = tx.queryRow(tx.w.stmts.selectDelivery, func(row *sqlite3.Stmt) error {
		if err := json.Unmarshal(row.ColumnRawBlob(2), &d); err != nil {
			broken = fmt.Errorf("%w: a delivery cannot be read: %w", ErrCorrupt, err)
		}
		d.Revision, d.Wanted = uint64(row.ColumnInt64(0)), uint64(row.ColumnInt64(1))
		return nil
	}, ref.Tenant, string(ref.Task), id)
	return d, found, errors.Join(err, broken)
}

// PutEndpoint implements ledger.Endpoints. There is one writer, so MaxEndpoints is
// exact.
func (l *Ledger) PutEndpoint(ctx context.Context, ref lifecycle.Ref, e ledger.Endpoint) error {
	encoded, err := encodeEndpoint(e)
	if err != nil {
		return err
	}
	return l.on(ctx, ref, func(tx *transaction, _ touchedHead) error {
		_, known, err := tx.delivery(ref, e.ID)
		if err != nil {
			return err
		}
		if known {
			return tx.exec(tx.w.stmts.updateEndpoint, encoded.config, encoded.secrets, ref.Tenant, string(ref.Task), e.ID)
		}
		count := 0
		_, err = tx.queryRow(tx.w.stmts.countEndpoints, func(row *sqlite3.Stmt) error {
			count = row.ColumnInt(0)
			return nil
		}, ref.Tenant, string(ref.Task))
		if err != nil {
			return err
		}
		if count >= ledger.MaxEndpoints {
			return fmt.Errorf("task %s: %w (%d)", ref, ledger.ErrTooManyEndpoints, count)
		}
		return tx.insertEndpoint(ref, encoded)
	})
}

// Endpoint implements ledger.Endpoints.
func (l *Ledger) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (ledger.Endpoint, error) {
	const endpoint = "SELECT " + endpointColumns + " FROM endpoints WHERE tenant = ? AND task = ? AND id = ?"
	found, err := l.endpoints(ctx, endpoint, ref.Tenant, string(ref.Task), id)
	if err == nil && len(found) == 0 {
		err = noEndpoint(ref, id)
	}
	if err != nil {
		return ledger.Endpoint{}, err
	}
	return found[0], nil
}

// EndpointList implements ledger.Endpoints.
func (l *Ledger) EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error) {
	const endpoints = "SELECT " + endpointColumns + " FROM endpoints WHERE tenant = ? AND task = ? ORDER BY id"
	return l.endpoints(ctx, endpoints, ref.Tenant, string(ref.Task))
}

func (l *Ledger) endpoints(ctx context.Context, sql string, args ...any) (out []ledger.Endpoint, err error) {
	err = l.pool.query(ctx, sql, func(row *sqlite3.Stmt) error {
		e, err := scanEndpoint(row)
		out = append(out, e)
		return err
	}, args...)
	return out, err
}

// DeleteEndpoint implements ledger.Endpoints.
func (l *Ledger) DeleteEndpoint(ctx context.Context, ref lifecycle.Ref, id string) error {
	return l.writer.do(ctx, &operation{apply: func(tx *transaction) error {
		return tx.exec(tx.w.stmts.deleteEndpoint, ref.Tenant, string(ref.Task), id)
	}})
}

func noEndpoint(ref lifecycle.Ref, id string) error {
	return fmt.Errorf("endpoint %q of task %s: %w", id, ref, ledger.ErrNotFound)
}
