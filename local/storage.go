package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/holdfast-a2a/holdfast/infra/boot"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// storage is where a server keeps its tasks.
type storage struct {
	ledger ledger.Ledger
	blobs  ledger.Blobs
	keys   keyring.Store
	// alone is the proof that no other process works on the tasks.
	alone bool
	where string
	close func() error
}

// openStorage opens the embedded ledger in the data folder, or a DynamoDB one on
// a server. Large parts are in the data folder either way.
func openStorage(ctx context.Context, s settings) (storage, error) {
	if s.dynamoDB == "" {
		book, err := sqlite.Open(s.data, sqlite.Options{})
		if err != nil {
			return storage{}, err
		}
		blobs, err := sqlite.OpenBlobs(s.data, sqlite.Options{})
		return storage{ledger: book, blobs: blobs, keys: keyFolder(filepath.Join(s.data, "keys")), alone: true, where: "data in " + s.data, close: book.Close}, err
	}
	if err := os.MkdirAll(s.data, 0o700); err != nil {
		return storage{}, err
	}
	tasks, err := boot.LaptopLedger(ctx, s.dynamoDB)
	if err != nil {
		return storage{}, err
	}
	blobs, err := sqlite.OpenBlobs(s.data, sqlite.Options{})
	return storage{ledger: tasks, blobs: blobs, keys: tasks, where: "tasks on " + s.dynamoDB + ", large parts in " + s.data, close: func() error { return nil }}, err
}
