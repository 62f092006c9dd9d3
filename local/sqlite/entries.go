package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// encodedEntry is an entry as its row has it. The payload is kept apart, byte by
// byte: JSON inside JSON would be rewritten on its way, and its digest with it.
type encodedEntry struct {
	seq               uint64
	envelope, payload []byte
}

func encodeEntries(entries []lifecycle.Entry) ([]encodedEntry, error) {
	out := make([]encodedEntry, len(entries))
	for i, e := range entries {
		payload := []byte(e.Payload)
		if payload == nil {
			payload = []byte{}
		}
		e.Payload = nil
		envelope, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("encoding entry %d of task %s: %w", e.Seq, e.Task, err)
		}
		out[i] = encodedEntry{seq: e.Seq, envelope: envelope, payload: payload}
	}
	return out, nil
}

func decodeEntry(envelope, payload []byte) (lifecycle.Entry, error) {
	var e lifecycle.Entry
	if err := json.Unmarshal(envelope, &e); err != nil {
		return e, fmt.Errorf("%w: an entry cannot be read: %w", ErrCorrupt, err)
	}
	e.Payload = append(json.RawMessage(nil), payload...)
	return e, nil
}

// append gives entries their positions.
func (tx *transaction) append(row int64, entries []encodedEntry) error {
	for _, e := range entries {
		tx.position++
		if err := tx.exec(tx.w.stmts.insertEntry, tx.position, row, e.seq, e.envelope, e.payload); err != nil {
			return err
		}
	}
	return nil
}

// Entries implements ledger.Tasks.
func (l *Ledger) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	const entriesAfter = `SELECT e.envelope, e.payload FROM tasks t JOIN entries e ON e.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`
	if s, known := l.writer.heads.get(ref); known && l.pool.open() {
		if recent, here := s.tail.after(after, limit); here {
			return recent, ctx.Err()
		}
	}
	var out []lifecycle.Entry
	err := l.pool.query(ctx, entriesAfter, func(row *sqlite3.Stmt) error {
		e, err := decodeEntry(row.ColumnRawBlob(0), row.ColumnRawBlob(1))
		out = append(out, e)
		return err
	}, ref.Tenant, string(ref.Task), after, orAll(limit))
	if n := len(out); n > 0 {
		l.writer.caughtUp(ref, out[n-1].Seq)
	}
	return out, err
}

// Changes implements ledger.Feed. A position is the place of an entry in the
// order of all commits, in decimal.
func (l *Ledger) Changes(ctx context.Context, after string, limit int) ([]ledger.Change, error) {
	const changesAfter = `SELECT e.position, t.tenant, t.task, e.envelope, e.payload FROM entries e JOIN tasks t ON t.row = e.task
		WHERE e.position > ? ORDER BY e.position LIMIT ?`
	var from int64
	if after != "" {
		var err error
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, fmt.Errorf("%q is no position of the feed", after)
		}
	}
	var out []ledger.Change
	err := l.pool.query(ctx, changesAfter, func(row *sqlite3.Stmt) error {
		e, err := decodeEntry(row.ColumnRawBlob(3), row.ColumnRawBlob(4))
		out = append(out, ledger.Change{
			Position: strconv.FormatInt(row.ColumnInt64(0), 10),
			Ref:      lifecycle.Ref{Tenant: row.ColumnText(1), Task: a2a.TaskID(row.ColumnText(2))},
			Entry:    e,
		})
		return err
	}, from, orAll(limit))
	for _, c := range out {
		l.writer.caughtUp(c.Ref, c.Entry.Seq)
	}
	return out, err
}

// orAll is a limit for SQL, where a negative one means none.
func orAll(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// oneMore is a limit with the row that says whether there is another page.
func oneMore(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit + 1
}
