package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Create implements ledger.Tasks. The key is looked at before the task: whoever
// repeats a submission learns of the task that it made.
func (l *Ledger) Create(ctx context.Context, c ledger.Creation) error {
	p, err := prepareCreation(c)
	if err != nil {
		return err
	}
	return l.writer.do(ctx, &operation{entries: len(c.Entries), apply: func(tx *transaction) error {
		if err := p.free(tx); err != nil {
			return err
		}
		return p.insert(tx)
	}})
}

// creation is a Creation with everything encoded, which callers do side by side.
type creation struct {
	head    lifecycle.Head
	encoded []byte
	history []lifecycle.Entry
	entries []encodedEntry
	key     *ledger.Key
	note    []byte
	// endpoints that came with it
	endpoints []encodedEndpoint
}

func prepareCreation(c ledger.Creation) (p creation, err error) {
	if len(c.Entries) == 0 {
		return p, fmt.Errorf("task %s is created without an entry", c.Head.Task)
	}
	if err := c.Check(); err != nil {
		return p, err
	}
	p.head, p.key, p.history = plain(c.Head), c.Key, own(c.Entries)
	if p.encoded, err = encodeHead(p.head); err != nil {
		return p, err
	}
	if p.entries, err = encodeEntries(c.Entries); err != nil {
		return p, err
	}
	if p.note, err = json.Marshal(c.Note); err != nil {
		return p, err
	}
	for _, e := range c.Endpoints {
		encoded, err := encodeEndpoint(e)
		if err != nil {
			return p, err
		}
		p.endpoints = append(p.endpoints, encoded)
	}
	return p, nil
}

// free refuses a key or a task that exists.
func (p creation) free(tx *transaction) error {
	if p.key != nil {
		note, taken, err := tx.key(*p.key)
		if err != nil {
			return err
		}
		if taken && !note.Forgotten(p.head.AcceptedAt) {
			return &ledger.KeyTaken{Note: note}
		}
	}
	if _, purged, err := tx.purge(p.head.Ref()); err != nil || purged {
		return errors.Join(err, &ledger.Conflict{Current: lifecycle.Head{Tenant: p.head.Tenant, Task: p.head.Task}})
	}
	existing, err := tx.head(p.head.Ref())
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.conflict(existing, 0)
}

func (p creation) insert(tx *transaction) error {
	h, c := p.head, columnsOf(p.head)
	row := tx.row + 1
	err := tx.exec(tx.w.stmts.insertTask, row, h.Tenant, string(h.Task), h.Agent, h.AgentVersion, h.ContextID, c.state, c.statusAt, c.expiresAt(), c.dueAt(), p.encoded)
	if err != nil {
		return err
	}
	tx.row = row
	tx.touched[h.Ref()] = touchedHead{stored: stored{row, h, tail{}.and(p.history)}, appended: true}
	if err := tx.append(row, p.entries); err != nil {
		return err
	}
	for _, e := range p.endpoints {
		if err := tx.insertEndpoint(h.Ref(), e); err != nil {
			return err
		}
	}
	if p.key == nil {
		return nil
	}
	return tx.exec(tx.w.stmts.insertKey, p.key.Tenant, string(p.key.Hash), p.note)
}

// Key implements ledger.Tasks.
func (l *Ledger) Key(ctx context.Context, key ledger.Key) (ledger.KeyNote, error) {
	const keyNote = `SELECT note FROM keys WHERE tenant = ? AND hash = ?`
	var note ledger.KeyNote
	found, err := l.pool.queryRow(ctx, keyNote, func(row *sqlite3.Stmt) (err error) {
		note, err = decodeNote(row.ColumnRawBlob(0))
		return err
	}, key.Tenant, string(key.Hash))
	if err == nil && !found {
		err = fmt.Errorf("submission key: %w", ledger.ErrNotFound)
	}
	return note, err
}

// key reads what a submission key remembers.
func (tx *transaction) key(key ledger.Key) (note ledger.KeyNote, found bool, err error) {
	var encoded []byte
	found, err = tx.queryRow(tx.w.stmts.selectKey, func(row *sqlite3.Stmt) error {
		encoded = row.ColumnBlob(0, nil)
		return nil
	}, key.Tenant, string(key.Hash))
	if err == nil && found {
		note, err = decodeNote(encoded)
	}
	return note, found, err
}

func decodeNote(b []byte) (ledger.KeyNote, error) {
	var note ledger.KeyNote
	if err := json.Unmarshal(b, &note); err != nil {
		return note, fmt.Errorf("%w: a submission key cannot be read: %w", ErrCorrupt, err)
	}
	return note, nil
}
