package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// bind gives a statement its arguments, in order.
func bind(s *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case int64:
			err = s.BindInt64(i+1, v)
		case int:
			err = s.BindInt64(i+1, int64(v))
		case uint64:
			err = s.BindInt64(i+1, int64(v))
		case bool:
			err = s.BindBool(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		default:
			err = fmt.Errorf("argument %d has type %T", i+1, arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// execute runs a statement that gives no rows.
func execute(s *sqlite3.Stmt, args ...any) error {
	if err := bind(s, args); err != nil {
		return err
	}
	return s.Exec()
}

// query hands each row to scan, which may read the columns and not keep them.
func query(s *sqlite3.Stmt, scan func(*sqlite3.Stmt) error, args ...any) error {
	if err := bind(s, args); err != nil {
		return err
	}
	var err error
	for err == nil && s.Step() {
		err = scan(s)
	}
	if err == nil {
		err = s.Err()
	}
	return errors.Join(err, s.Reset())
}

// queryRow is query for a statement that gives at most one row.
func queryRow(s *sqlite3.Stmt, scan func(*sqlite3.Stmt) error, args ...any) (found bool, err error) {
	err = query(s, func(s *sqlite3.Stmt) error {
		found = true
		return scan(s)
	}, args...)
	return found, err
}

// prepare compiles a statement that is used again and again.
func prepare(conn *sqlite3.Conn, sql string) (*sqlite3.Stmt, error) {
	s, _, err := conn.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", sql, err)
	}
	return s, nil
}

func queryOnce(conn *sqlite3.Conn, sql string, scan func(*sqlite3.Stmt) error) error {
	s, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	found, err := queryRow(s, scan)
	if err == nil && !found {
		err = errors.New("no such row")
	}
	return errors.Join(err, s.Close())
}

func queryInt(conn *sqlite3.Conn, sql string) (n int, err error) {
	err = queryOnce(conn, sql, func(s *sqlite3.Stmt) error {
		n = s.ColumnInt(0)
		return nil
	})
	return n, err
}
