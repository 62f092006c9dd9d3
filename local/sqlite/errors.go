package sqlite

import (
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

var (
	// ErrLocked: another process has the folder. The error is a *LockedError.
	ErrLocked = errors.New("the data folder is in use")
	// ErrCorrupt: the file is not what was written. Nothing was changed.
	ErrCorrupt = errors.New("the data is damaged")
	// ErrNewer: the file was written by a newer build. Nothing was changed.
	ErrNewer = errors.New("the data was written by a newer build")
	// ErrClosed: the ledger was closed before the operation began.
	ErrClosed = errors.New("the ledger is closed")
)

// LockedError says who has the folder.
type LockedError struct {
	Path string // of the lock file
	PID  int    // of its holder, 0 when it cannot be told
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%v: another process holds %s", ErrLocked, e.Path)
	}
	return fmt.Sprintf("%v: process %d holds %s; stop it first, or use another folder", ErrLocked, e.PID, e.Path)
}

// Unwrap makes errors.Is find ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// unavailable marks a fault of the file or the disk, so that callers try the
// same operation again.
func unavailable(err error) error { return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err) }
