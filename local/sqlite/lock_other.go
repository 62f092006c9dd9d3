//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sqlite

import (
	"errors"
	"os"
)

// lockFile: without a lock that dies with its process, two processes could write
// one ledger. There is none here that we have tried, so nothing is opened.
func lockFile(*os.File) error {
	return errors.New("the embedded ledger needs flock, which this platform does not have: use Linux, macOS or a BSD (on Windows: WSL)")
}
