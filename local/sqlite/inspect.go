package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// maxCheckedBytes bounds the file whose every page is checked at the start: that
// takes about 0.1 s for 100 MiB (BenchmarkOpen), and a restart must not take a
// second. Of a larger file the header, the length, the log and the schema are
// checked; SQLite finds what else is wrong when it reads it.
const maxCheckedBytes = 256 << 20

// inspect judges the database at path without changing a byte of it, and says
// which version it has: 0 when there is no database. The folder must be locked.
func inspect(path string, known int) (version int, err error) {
	s, err := readSnapshot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, orphanedLog(path)
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	name := fmt.Sprintf("%x", path) // hexadecimal needs no escaping
	readervfs.Create(name, s)
	defer readervfs.Delete(name)
	conn, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if s.pages*s.pageSize <= maxCheckedBytes {
		var verdict string
		err := queryOnce(conn, "PRAGMA quick_check(1)", func(row *sqlite3.Stmt) error {
			verdict = row.ColumnText(0)
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("%w: %s: %w", ErrCorrupt, path, err)
		}
		if verdict != "ok" {
			return 0, fmt.Errorf("%w: %s: %s", ErrCorrupt, path, verdict)
		}
	}
	version, err = queryInt(conn, "SELECT value FROM meta WHERE name = 'version'")
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %s is not a Holdfast ledger: %w", ErrCorrupt, path, err)
	case version > known:
		return 0, fmt.Errorf("%w: %s has version %d, this build knows versions up to %d: start the newer build", ErrNewer, path, version, known)
	case version < 1:
		return 0, fmt.Errorf("%w: %s has version %d", ErrCorrupt, path, version)
	}
	return version, nil
}

// orphanedLog refuses to begin anew where a database has been.
func orphanedLog(path string) error {
	log := path + "-wal"
	if _, err := os.Stat(log); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s is missing while its log %s is there", ErrCorrupt, path, log)
}
