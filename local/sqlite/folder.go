package sqlite

import (
	"errors"
	"os"
)

// SyncFolder makes names durable: those of files that were made, renamed or
// removed in the folder.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
