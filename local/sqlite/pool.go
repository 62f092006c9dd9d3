package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// pool is a few read-only connections, each used by one reader at a time.
type pool struct {
	free   chan *reader
	all    []*reader
	closed chan struct{}
}

// reader is a connection and the statements that it has compiled. There are as
// many as there are shapes of queries, which is few.
type reader struct {
	conn       *sqlite3.Conn
	statements map[string]*sqlite3.Stmt
}

func openPool(path string) (*pool, error) {
	p := &pool{free: make(chan *reader, readers), closed: make(chan struct{})}
	for range readers {
		conn, err := openConn(path, sqlite3.OPEN_READONLY,
			"PRAGMA query_only = ON", fmt.Sprintf("PRAGMA cache_size = -%d", readerCacheKiB))
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		r := &reader{conn: conn, statements: map[string]*sqlite3.Stmt{}}
		p.all = append(p.all, r)
		p.free <- r
	}
	return p, nil
}

// query runs a query on a free connection. It sees every commit that was
// answered before it was called, because its snapshot is taken at its first step.
func (p *pool) query(ctx context.Context, sql string, scan func(*sqlite3.Stmt) error, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.open() {
		return ErrClosed
	}
	var r *reader
	select {
	case r = <-p.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return ErrClosed
	}
	defer func() { p.free <- r }()
	s, err := r.statement(sql)
	if err != nil {
		return unavailable(err)
	}
	return readError(query(s, scan, args...))
}

func (p *pool) open() bool {
	select {
	case <-p.closed:
		return false
	default:
		return true
	}
}

// queryRow is query for at most one row.
func (p *pool) queryRow(ctx context.Context, sql string, scan func(*sqlite3.Stmt) error, args ...any) (found bool, err error) {
	err = p.query(ctx, sql, func(s *sqlite3.Stmt) error {
		found = true
		return scan(s)
	}, args...)
	return found, err
}

func (r *reader) statement(sql string) (*sqlite3.Stmt, error) {
	if s := r.statements[sql]; s != nil {
		return s, nil
	}
	s, err := prepare(r.conn, sql)
	if err == nil {
		r.statements[sql] = s
	}
	return s, err
}

// close waits for the readers that are at work.
func (p *pool) close() error {
	close(p.closed)
	var errs []error
	for range p.all {
		r := <-p.free
		for _, s := range r.statements {
			errs = append(errs, s.Close())
		}
		errs = append(errs, r.conn.Close())
	}
	return errors.Join(errs...)
}

// readError gives SQLite's faults the port's name. Damage is not one that goes
// away by trying again.
func readError(err error) error {
	fault, ok := errors.AsType[*sqlite3.Error](err)
	switch {
	case !ok:
		return err
	case fault.Code() == sqlite3.CORRUPT || fault.Code() == sqlite3.NOTADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return unavailable(err)
}

// openConn opens a connection and sets it up.
func openConn(path string, flags sqlite3.OpenFlag, setup ...string) (*sqlite3.Conn, error) {
	conn, err := sqlite3.OpenFlags(path, flags)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	setup = append([]string{fmt.Sprintf("PRAGMA busy_timeout = %d", busyMillis), "PRAGMA temp_store = MEMORY"}, setup...)
	for _, sql := range setup {
		if err := conn.Exec(sql); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", sql, err), conn.Close())
		}
	}
	return conn, nil
}
