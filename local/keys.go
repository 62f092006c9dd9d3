package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-a2a/holdfast/local/sqlite"
)

// keyFolder keeps the process's keys in files that only their owner can read. It is a
// keyring.Store; the data folder's lock sees to it that one process uses it.
type keyFolder string

// Secret implements keyring.Store.
func (f keyFolder) Secret(_ context.Context, name string, fresh []byte) ([]byte, error) {
	path := filepath.Join(string(f), name)
	kept, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	if fresh == nil {
		return nil, nil
	}
	return fresh, f.write(name, fresh)
}

// Replace implements keyring.Store.
func (f keyFolder) Replace(_ context.Context, name string, old, fresh []byte) (bool, error) {
	kept, err := os.ReadFile(filepath.Join(string(f), name))
	if err != nil || !bytes.Equal(kept, old) {
		return false, err
	}
	return true, f.write(name, fresh)
}

// write gives a key its file.
func (f keyFolder) write(name string, fresh []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	// A file with half a key would be there for ever: it gets its name when it is whole.
	part, err := os.CreateTemp(string(f), "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = part.Write(fresh)
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), filepath.Join(string(f), name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	// Secrets that were sealed with a key that is gone after a power failure would never
	// open again: the folder's own name is made durable as well.
	return errors.Join(sqlite.SyncFolder(string(f)), sqlite.SyncFolder(filepath.Dir(string(f))))
}
