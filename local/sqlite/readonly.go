package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// reads are what can be asked of a folder that nobody writes to.
type reads interface {
	Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error)
	Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error)
	Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error)
	Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error)
	Quarantine(ctx context.Context, ref lifecycle.Ref) ([]ledger.Quarantined, error)
	Acts(ctx context.Context, ref lifecycle.Ref) ([]ledger.Acted, error)
	Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error)
	EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error)
	EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error)
}

// ReadOnly is the ledger of a folder that no process uses.
type ReadOnly struct {
	reads

	close func() error
}

// Close gives the folder back.
func (r *ReadOnly) Close() error { return r.close() }

// OpenReadOnly opens the ledger in a folder without changing a byte of it: what a
// process that died has left in the log is read there and stays there. It takes the
// folder's lock (ErrLocked), so that nobody writes meanwhile. fs.ErrNotExist: there
// is no ledger. ErrCorrupt, ErrNewer: as Open.
func OpenReadOnly(dir string) (r *ReadOnly, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no ledger in %s: %w", dir, err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	r, err = openSnapshot(path, lock)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return r, nil
}

func openSnapshot(path string, lock *folderLock) (*ReadOnly, error) {
	known := len(migrations())
	version, err := inspect(path, known)
	switch {
	case err != nil:
		return nil, err
	case version == 0:
		return nil, fmt.Errorf("there is no ledger at %s: %w", path, fs.ErrNotExist)
	case version < known:
		return nil, fmt.Errorf("%s has version %d, this build reads version %d: serve the folder once with it, which brings it up to date", path, version, known)
	}
	s, err := readSnapshot(path)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%x-readonly", path)
	readervfs.Create(name, s)
	closeFile := func() error {
		readervfs.Delete(name)
		return s.close()
	}
	conn, err := openConn("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI, "PRAGMA query_only = ON")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err), closeFile())
	}
	only := &reader{conn: conn, statements: map[string]*sqlite3.Stmt{}}
	p := &pool{free: make(chan *reader, 1), all: []*reader{only}, closed: make(chan struct{})}
	p.free <- only
	book := &Ledger{pool: p, writer: &writer{heads: newHeads(1)}} // a writer that nobody gives work to remembers no heads
	return &ReadOnly{reads: book, close: func() error { return errors.Join(p.close(), closeFile(), lock.release()) }}, nil
}
