package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/ncruces/go-sqlite3"
)

// fileName is the ledger's file within the data folder.
const fileName = "holdfast.db"

// Ledger is the ledger of one data folder. Its methods may be called by any
// number of goroutines.
type Ledger struct {
	lock     *folderLock
	pool     *pool
	writer   *writer
	watchers *watchers
	close    func() error
}

var _ ledger.Ledger = (*Ledger)(nil)

// counters are read by Stats while the writer goes on.
type counters struct {
	commits, refused, failed, batches, entries, checkpoints atomic.Uint64
}

// Stats are counts since Open, and two sizes as they are now.
type Stats struct {
	Commits     uint64 // operations that were written
	Refused     uint64 // operations that their guard refused
	Failed      uint64 // operations that were answered with ledger.ErrUnavailable
	Entries     uint64 // entries written
	Batches     uint64 // transactions; each is one sync of the disk
	Checkpoints uint64 // times the log was moved into the file
	Heads       int    // heads in memory
	Watched     int    // tasks that somebody watches
}

// Open opens the ledger in a folder, which it makes when it is not there. It
// takes the folder's lock (ErrLocked), judges what is there (ErrCorrupt,
// ErrNewer) and migrates it. Only Close gives the lock back.
func Open(dir string, o Options) (*Ledger, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	l, err := openLocked(filepath.Join(dir, fileName), lock, o)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return l, nil
}

func openLocked(path string, lock *folderLock, o Options) (*Ledger, error) {
	version, err := inspect(path, len(o.migrations))
	if err != nil {
		return nil, err
	}
	if version == 0 {
		if err := create(path, o); err != nil {
			return nil, err
		}
		version = len(o.migrations)
	}
	w, err := openWriter(path, version, o)
	if err != nil {
		return nil, err
	}
	p, err := openPool(path)
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	l := &Ledger{lock: lock, pool: p, writer: w, watchers: w.watchers}
	l.close = sync.OnceValue(l.shut)
	go w.loop()
	return l, nil
}

// create makes the file under another name first, so that what has the right
// name is always whole.
func create(path string, o Options) error {
	draft := path + ".new"
	for _, left := range []string{draft, draft + "-wal", draft + "-shm", draft + "-journal"} {
		if err := os.Remove(left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	conn, err := openConn(draft, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = "+o.synchronous())
	if err != nil {
		return err
	}
	if err := errors.Join(migrate(conn, 0, o.migrations), conn.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, path); err != nil || o.NoSync {
		return err
	}
	dir := filepath.Dir(path)
	return errors.Join(SyncFolder(dir), SyncFolder(filepath.Dir(dir))) // the folder may be new as well
}

func openWriter(path string, version int, o Options) (*writer, error) {
	conn, err := openConn(path, sqlite3.OPEN_READWRITE,
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = "+o.synchronous(), fmt.Sprintf("PRAGMA cache_size = -%d", writerCacheKiB))
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn: conn, queue: newQueue(), heads: newHeads(o.Heads), watchers: newWatchers(),
		count: &counters{}, fault: o.fault, stopped: make(chan struct{}),
	}
	w.log = keepLog(conn, w.count)
	if err := w.start(version, o.migrations); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) start(version int, list []migration) error {
	if err := migrate(w.conn, version, list); err != nil {
		return err
	}
	last, err := queryInt(w.conn, "SELECT max(value, (SELECT ifnull(max(position), 0) FROM entries)) FROM meta WHERE name = 'position'")
	if err != nil {
		return fmt.Errorf("reading the last position: %w", err)
	}
	row, err := queryInt(w.conn, "SELECT max((SELECT ifnull(max(row), 0) FROM tasks), (SELECT ifnull(max(row), 0) FROM purges))")
	if err != nil {
		return fmt.Errorf("reading the last row: %w", err)
	}
	w.position, w.row = int64(last), int64(row)
	return w.stmts.prepare(w.conn)
}

// close finishes the statements and the connection. The last connection of a
// database moves the log into the file.
func (w *writer) close() error {
	var errs []error
	for _, s := range slices.Collect(w.conn.Stmts()) {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// Close writes what is queued, ends all waits, and gives the folder back.
// Operations that come later get ErrClosed.
func (l *Ledger) Close() error { return l.close() }

func (l *Ledger) shut() error {
	l.writer.queue.close()
	<-l.writer.stopped
	close(l.watchers.closed)
	return errors.Join(l.pool.close(), l.writer.close(), l.lock.release())
}

// Stats counts what was done. Commits by Batches is how many writes shared a
// sync of the disk.
func (l *Ledger) Stats() Stats {
	c := l.writer.count
	return Stats{
		Commits: c.commits.Load(), Refused: c.refused.Load(), Failed: c.failed.Load(), Entries: c.entries.Load(),
		Batches: c.batches.Load(), Checkpoints: c.checkpoints.Load(), Heads: l.writer.heads.len(), Watched: l.watchers.len(),
	}
}
