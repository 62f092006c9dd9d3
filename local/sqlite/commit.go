package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// Commit implements ledger.Tasks. A chunk that is there already is the caller's
// error, and none that asks it to decide again.
func (l *Ledger) Commit(ctx context.Context, c ledger.Commit) error {
	p, err := prepareCommit(c)
	if err != nil {
		return err
	}
	return l.writer.do(ctx, &operation{entries: len(c.Entries), apply: p.apply})
}

// commit is a Commit with everything encoded, which callers do side by side.
type commit struct {
	ledger.Commit
	head      []byte
	entries   []encodedEntry
	artifacts [][]byte
}

func prepareCommit(c ledger.Commit) (p commit, err error) {
	if err := c.Check(); err != nil {
		return p, err
	}
	c.Head, c.Entries = plain(c.Head), own(c.Entries)
	p.Commit = c
	if p.head, err = encodeHead(c.Head); err != nil {
		return p, err
	}
	if p.entries, err = encodeEntries(c.Entries); err != nil {
		return p, err
	}
	for _, a := range c.Artifacts {
		record, err := json.Marshal(a)
		if err != nil {
			return p, err
		}
		p.artifacts = append(p.artifacts, record)
	}
	return p, nil
}

func (p *commit) apply(tx *transaction) error {
	now, err := tx.head(p.Seen.Ref())
	if err != nil {
		return err
	}
	if !ledger.Stands(p.Seen, now.head) {
		return tx.conflict(now, p.Seen.Seq)
	}
	if err := tx.follows(now, p.Commit); err != nil {
		return err
	}
	if err := tx.setHead(now, p.Head, p.head, p.Entries); err != nil {
		return err
	}
	if err := tx.append(now.row, p.entries); err != nil {
		return err
	}
	for i, a := range p.Artifacts {
		if err := tx.exec(tx.w.stmts.upsertArtifact, now.row, string(a.ID), p.artifacts[i]); err != nil {
			return err
		}
	}
	for _, k := range p.Chunks {
		if err := tx.exec(tx.w.stmts.insertChunk, now.row, string(k.Artifact), k.Revision, k.Number, string(k.Checksum), k.Seq); err != nil {
			return err
		}
	}
	for _, r := range p.Receipts {
		if err := tx.insertReceipt(now.row, r); err != nil {
			return err
		}
	}
	if m := p.Producer; m != nil {
		if err := tx.exec(tx.w.stmts.upsertProducer, now.row, m.Producer, m.Seq, m.EventID); err != nil {
			return err
		}
	}
	if p.Answered == 0 {
		return nil
	}
	return tx.exec(tx.w.stmts.upsertAnswered, now.row, p.Answered)
}

// MarkCancel implements ledger.Tasks.
func (l *Ledger) MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, _ string) error {
	return l.on(ctx, ref, func(tx *transaction, now touchedHead) error {
		if now.head.Holder == "" || now.head.Fence != fence {
			return &ledger.Conflict{Current: plain(now.head)}
		}
		if now.head.Cancel != nil {
			return nil
		}
		next := now.head
		next.Cancel = &mark
		next = plain(next)
		encoded, err := encodeHead(next)
		if err != nil {
			return err
		}
		return tx.setHead(now, next, encoded, nil)
	})
}

// Head implements ledger.Tasks.
func (l *Ledger) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	if err := ctx.Err(); err != nil {
		return lifecycle.Head{}, err
	}
	if s, ok := l.writer.heads.get(ref); ok {
		return plain(s.head), nil
	}
	const head = `SELECT head FROM tasks WHERE tenant = ? AND task = ?`
	var h lifecycle.Head
	found, err := l.pool.queryRow(ctx, head, func(row *sqlite3.Stmt) (err error) {
		h, err = decodeHead(row.ColumnRawBlob(0))
		return err
	}, ref.Tenant, string(ref.Task))
	if err == nil && !found {
		err = noTask(ref)
	}
	return h, err
}

// Artifacts implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error) {
	const artifacts = `SELECT a.record FROM tasks t JOIN artifacts a ON a.task = t.row WHERE t.tenant = ? AND t.task = ? ORDER BY a.id`
	return records[lifecycle.Artifact](ctx, l.pool, artifacts, ref.Tenant, string(ref.Task))
}

// Chunk implements ledger.Tasks.
func (l *Ledger) Chunk(ctx context.Context, ref lifecycle.Ref, artifact a2a.ArtifactID, revision, number int) (ledger.ChunkReceipt, error) {
	const chunk = `SELECT c.checksum, c.seq FROM tasks t JOIN chunks c ON c.task = t.row
		WHERE t.tenant = ? AND t.task = ? AND c.artifact = ? AND c.revision = ? AND c.number = ?`
	k := ledger.ChunkReceipt{Artifact: artifact, Revision: revision, Number: number}
	found, err := l.pool.queryRow(ctx, chunk, func(row *sqlite3.Stmt) error {
		k.Checksum, k.Seq = lifecycle.Digest(row.ColumnText(0)), uint64(row.ColumnInt64(1))
		return nil
	}, ref.Tenant, string(ref.Task), string(artifact), revision, number)
	if err == nil && !found {
		err = fmt.Errorf("chunk %d of revision %d of artifact %q of task %s: %w", number, revision, artifact, ref, ledger.ErrNotFound)
	}
	return k, err
}

// records reads JSON records, in the order of the query.
func records[T any](ctx context.Context, p *pool, sql string, args ...any) ([]T, error) {
	var out []T
	err := p.query(ctx, sql, func(row *sqlite3.Stmt) error {
		var one T
		if err := json.Unmarshal(row.ColumnRawBlob(0), &one); err != nil {
			return fmt.Errorf("%w: a record cannot be read: %w", ErrCorrupt, err)
		}
		out = append(out, one)
		return nil
	}, args...)
	return out, err
}
