package sqlite

import (
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// transaction is what the operations of one batch see and change. An operation
// refuses before it writes anything.
type transaction struct {
	w *writer
	// touched are the heads as this transaction leaves them.
	touched  map[lifecycle.Ref]touchedHead
	position int64
	row      int64 // the last one that was given to a task
	// broken is the first fault: nothing of the transaction can be kept.
	broken error
}

type touchedHead struct {
	stored
	appended bool // it has new entries
	purged   bool // it has none any more
}

func (tx *transaction) begin(w *writer) {
	tx.w, tx.position, tx.row, tx.broken = w, w.position, w.row, nil
	if tx.touched == nil {
		tx.touched = make(map[lifecycle.Ref]touchedHead, maxBatch)
	}
	clear(tx.touched)
}

// exec and query note a fault of the file, so that no operation can overlook it.
func (tx *transaction) exec(s *sqlite3.Stmt, args ...any) error { return tx.note(execute(s, args...)) }

func (tx *transaction) queryRow(s *sqlite3.Stmt, scan func(*sqlite3.Stmt) error, args ...any) (bool, error) {
	found, err := queryRow(s, scan, args...)
	return found, tx.note(err)
}

func (tx *transaction) note(err error) error {
	if err != nil && tx.broken == nil {
		tx.broken = err
	}
	return err
}

// head gives the head as this transaction has it.
func (tx *transaction) head(ref lifecycle.Ref) (touchedHead, error) {
	if t, ok := tx.touched[ref]; ok {
		if t.purged {
			return touchedHead{}, noTask(ref)
		}
		return t, nil
	}
	s, ok := tx.w.heads.get(ref)
	if !ok {
		var encoded []byte
		found, err := tx.queryRow(tx.w.stmts.selectHead, func(row *sqlite3.Stmt) error {
			s.row, encoded = row.ColumnInt64(0), row.ColumnBlob(1, nil)
			return nil
		}, ref.Tenant, string(ref.Task))
		if err != nil {
			return touchedHead{}, err
		}
		if !found {
			return touchedHead{}, noTask(ref)
		}
		if s.head, err = decodeHead(encoded); err != nil {
			return touchedHead{}, err
		}
	}
	t := touchedHead{stored: s}
	tx.touched[ref] = t
	return t, nil
}

// setHead writes a head, and its indexed columns if they differ.
func (tx *transaction) setHead(old touchedHead, next lifecycle.Head, encoded []byte, added []lifecycle.Entry) error {
	a, b := columnsOf(old.head), columnsOf(next)
	var err error
	switch {
	case a == b:
		err = tx.exec(tx.w.stmts.updateHead, encoded, old.row)
	case a.status() == b.status():
		err = tx.exec(tx.w.stmts.updateDue, encoded, b.dueAt(), old.row)
	default:
		err = tx.exec(tx.w.stmts.updateStatus, encoded, b.state, b.statusAt, b.expiresAt(), b.dueAt(), old.row)
	}
	if err == nil {
		tx.touched[next.Ref()] = touchedHead{stored: stored{old.row, next, old.tail.and(added)}, appended: old.appended || len(added) > 0}
	}
	return err
}

// conflict is the refusal of whoever saw another head.
func (tx *transaction) conflict(t touchedHead, seen uint64) error {
	c := &ledger.Conflict{Current: plain(t.head)}
	if seen >= t.head.Seq {
		return c
	}
	var envelope []byte
	found, err := tx.queryRow(tx.w.stmts.selectEntry, func(row *sqlite3.Stmt) error {
		envelope = row.ColumnBlob(0, nil)
		return nil
	}, t.row, seen+1)
	if err != nil || !found {
		return errors.Join(err, c)
	}
	e, err := decodeEntry(envelope, nil)
	if err != nil {
		return err
	}
	c.NextOp = e.OpID
	return c
}

func noTask(ref lifecycle.Ref) error { return fmt.Errorf("task %s: %w", ref, ledger.ErrNotFound) }

// columns are the parts of a head that are indexed. What a task was created
// with (agent, version, context) never changes.
type columns struct {
	state             string
	statusAt          int64
	expires, due      int64
	hasExpiry, hasDue bool
}

func columnsOf(h lifecycle.Head) columns {
	c := columns{state: string(h.State), statusAt: nanos(h.StatusAt)}
	if h.Terminal() && !h.ExpiresAt.IsZero() {
		c.expires, c.hasExpiry = nanos(h.ExpiresAt), true
	}
	if !h.DueAt.IsZero() {
		c.due, c.hasDue = nanos(h.DueAt), true
	}
	return c
}

func (c columns) status() columns {
	c.due, c.hasDue = 0, false
	return c
}

func (c columns) expiresAt() any { return orNull(c.expires, c.hasExpiry) }
func (c columns) dueAt() any     { return orNull(c.due, c.hasDue) }

func orNull(n int64, has bool) any {
	if !has {
		return nil
	}
	return n
}

// statements are the writer's, compiled once.
type statements struct {
	begin, commit, rollback                          *sqlite3.Stmt
	selectHead, updateHead, updateDue, updateStatus  *sqlite3.Stmt
	insertTask, insertEntry, selectEntry             *sqlite3.Stmt
	selectKey, insertKey                             *sqlite3.Stmt
	upsertArtifact, insertChunk                      *sqlite3.Stmt
	insertReceipt, hitReceipt, countHit              *sqlite3.Stmt
	selectRejections, insertRejection, countRejected *sqlite3.Stmt
	selectReceipt, selectProducer, upsertProducer    *sqlite3.Stmt
	insertQuarantined, countQuarantined              *sqlite3.Stmt
	selectActs, insertAct, countAct                  *sqlite3.Stmt
	selectEffect, upsertEffect                       *sqlite3.Stmt
	selectParked, upsertToken, upsertAnswered        *sqlite3.Stmt
	insertEndpoint, updateEndpoint, deleteEndpoint   *sqlite3.Stmt
	countEndpoints, selectDelivery                   *sqlite3.Stmt
	updateDelivery, raiseWanted                      *sqlite3.Stmt
	selectPurge, insertPurge, deletePurge            *sqlite3.Stmt
	deleteTask, expireKey                            *sqlite3.Stmt
	forgetKeys                                       *sqlite3.Stmt
	purge                                            [len(belongings)]*sqlite3.Stmt
	noteFinding, forgetFinding                       *sqlite3.Stmt
}

func (s *statements) prepare(conn *sqlite3.Conn) error {
	var errs []error
	for _, one := range []struct {
		to  **sqlite3.Stmt
		sql string
	}{
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.selectHead, `SELECT row, head FROM tasks WHERE tenant = ? AND task = ?`},
		{&s.updateHead, `UPDATE tasks SET head = ? WHERE row = ?`},
		{&s.updateDue, `UPDATE tasks SET head = ?, due_at = ? WHERE row = ?`},
		{&s.updateStatus, `UPDATE tasks SET head = ?, state = ?, status_at = ?, expires_at = ?, due_at = ? WHERE row = ?`},
		{&s.insertTask, `INSERT INTO tasks (row, tenant, task, agent, version, context, state, status_at, expires_at, due_at, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.insertEntry, `INSERT INTO entries (position, task, seq, envelope, payload) VALUES (?, ?, ?, ?, ?)`},
		{&s.selectEntry, `SELECT envelope FROM entries WHERE task = ? AND seq = ?`},
		{&s.selectKey, `SELECT note FROM keys WHERE tenant = ? AND hash = ?`},
		{&s.insertKey, `INSERT INTO keys (tenant, hash, note) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET note = excluded.note, forget_at = NULL`},
		{&s.upsertArtifact, `INSERT INTO artifacts (task, id, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record`},
		{&s.insertChunk, `INSERT INTO chunks (task, artifact, revision, number, checksum, seq) VALUES (?, ?, ?, ?, ?, ?)`},
		{&s.insertReceipt, `INSERT INTO receipts (task, producer, event, digest, seq, hits, fence, reason, detail, op) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.hitReceipt, `UPDATE receipts SET hits = hits + 1 WHERE task = ? AND producer = ? AND event = ?`},
		{&s.countHit, `UPDATE tasks SET hits = hits + 1 WHERE row = ?`},
		{&s.selectRejections, `SELECT rejections, quarantined FROM tasks WHERE row = ?`},
		{&s.insertRejection, `INSERT INTO rejections (task, number, record) VALUES (?, ?, ?)`},
		{&s.countRejected, `UPDATE tasks SET rejections = rejections + 1, incidents = incidents + ? WHERE row = ?`},
		{&s.selectReceipt, `SELECT ` + receiptColumns + ` FROM receipts r WHERE r.task = ? AND r.producer = ? AND r.event = ?`},
		{&s.selectProducer, `SELECT seq FROM producers WHERE task = ? AND producer = ?`},
		{&s.upsertProducer, `INSERT INTO producers (task, producer, seq, event) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, event = excluded.event`},
		{&s.insertQuarantined, `INSERT INTO quarantine (task, number, record, payload) VALUES (?, ?, ?, ?)`},
		{&s.countQuarantined, `UPDATE tasks SET quarantined = quarantined + 1 WHERE row = ?`},
		{&s.selectActs, `SELECT acts FROM tasks WHERE row = ?`},
		{&s.insertAct, `INSERT INTO acts (task, number, record) VALUES (?, ?, ?)`},
		{&s.countAct, `UPDATE tasks SET acts = acts + 1 WHERE row = ?`},
		{&s.selectEffect, `SELECT revision FROM effects WHERE task = ? AND visit = ? AND name = ?`},
		{&s.upsertEffect, `INSERT INTO effects (task, visit, name, revision, record, result) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET revision = excluded.revision, record = excluded.record, result = excluded.result`},
		{&s.selectParked, `SELECT token, generation, entered_at, attempt, answered FROM parked WHERE task = ? AND pause = ?`},
		{&s.upsertToken, `INSERT INTO parked (task, pause, token, generation, entered_at, attempt) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET token = excluded.token, generation = excluded.generation, entered_at = excluded.entered_at, attempt = excluded.attempt`},
		{&s.upsertAnswered, `INSERT INTO parked (task, pause, answered) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET answered = 1`},
		{&s.insertEndpoint, `INSERT INTO endpoints (tenant, task, id, config, secrets, created_at, wanted, revision, delivery, idle, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.updateEndpoint, `UPDATE endpoints SET config = ?, secrets = ? WHERE tenant = ? AND task = ? AND id = ?`},
		{&s.deleteEndpoint, `DELETE FROM endpoints WHERE tenant = ? AND task = ? AND id = ?`},
		{&s.countEndpoints, `SELECT count(*) FROM endpoints WHERE tenant = ? AND task = ?`},
		{&s.selectDelivery, `SELECT revision, wanted, delivery FROM endpoints WHERE tenant = ? AND task = ? AND id = ?`},
		{&s.updateDelivery, `UPDATE endpoints SET revision = ?, delivery = ?, idle = ?, due_at = ? WHERE tenant = ? AND task = ? AND id = ?`},
		{&s.raiseWanted, `UPDATE endpoints SET wanted = ?, due_at = CASE WHEN idle THEN ? ELSE due_at END WHERE tenant = ? AND task = ? AND id = ?`},
		{&s.selectPurge, `SELECT row, head FROM purges WHERE tenant = ? AND task = ?`},
		{&s.insertPurge, `INSERT INTO purges (row, tenant, task, expires_at, head) VALUES (?, ?, ?, ?, ?)`},
		{&s.deletePurge, `DELETE FROM purges WHERE row = ?`},
		{&s.deleteTask, `DELETE FROM tasks WHERE row = ?`},
		{&s.expireKey, `UPDATE keys SET note = ?, forget_at = ? WHERE tenant = ? AND hash = ?`},
		{&s.forgetKeys, `DELETE FROM keys WHERE (tenant, hash) IN (SELECT tenant, hash FROM keys WHERE forget_at <= ? ORDER BY forget_at LIMIT ?)`},
		{&s.noteFinding, `INSERT INTO findings (tenant, task, kind, first_at, last_at, count) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET first_at = CASE WHEN last_at < ?7 THEN excluded.first_at ELSE first_at END,
				count = CASE WHEN last_at < ?7 THEN excluded.count ELSE count + excluded.count END, last_at = excluded.last_at`},
		{&s.forgetFinding, `DELETE FROM findings WHERE tenant = ? AND task = ? AND kind = ? AND last_at = ? AND count = ?`},
	} {
		var err error
		*one.to, err = prepare(conn, one.sql)
		errs = append(errs, err)
	}
	for i, b := range belongings {
		var err error
		s.purge[i], err = prepare(conn, b.remove())
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
