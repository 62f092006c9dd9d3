package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// folderLock is the lock on a data folder. The operating system gives it back
// when the process is gone, so holding it proves that the last holder is.
type folderLock struct{ file *os.File }

// errHeld is what the platform says when somebody else has the lock.
var errHeld = errors.New("held by another process")

func lockFolder(dir string) (*folderLock, error) {
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		holder := readPID(file)
		if err := file.Close(); err != nil {
			return nil, err
		}
		if errors.Is(err, errHeld) {
			return nil, &LockedError{Path: path, PID: holder}
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	l := &folderLock{file}
	if err := l.sign(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// sign writes the process's number, for the message of whoever comes second.
func (l *folderLock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// release gives the lock back. The file stays: removing it could pull it from
// under somebody who has just opened it.
func (l *folderLock) release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

func readPID(file *os.File) int {
	const longest = 32
	text, err := io.ReadAll(io.NewSectionReader(file, 0, longest))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
