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
)

// Blobs keeps large bytes in files, one for each: blobs/<tenant>/<task>/<digest>
// within the data folder. It needs no lock of its own: a file appears whole
// under its name or not at all, and two writers of one name write the same.
type Blobs struct {
	root   string
	noSync bool
}

var _ ledger.Blobs = (*Blobs)(nil)

// OpenBlobs opens the blob folder of a data folder, and makes it when it is not
// there. Of the options only NoSync matters.
func OpenBlobs(dir string, o Options) (*Blobs, error) {
	root, err := filepath.Abs(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	b := &Blobs{root: root, noSync: o.NoSync}
	return b, b.sync(filepath.Dir(root))
}

// Put implements ledger.Blobs. When it returns, the bytes and every name on the
// way to them are on disk.
func (b *Blobs) Put(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if actual := lifecycle.DigestBytes(content); actual != digest {
		return fmt.Errorf("a blob was to be stored under %q, its bytes have the digest %s", digest, actual)
	}
	folder := b.folder(ref)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unavailable(err)
	}
	path := filepath.Join(folder, string(digest))
	// What is there already may not be on disk yet, and may be damaged.
	if old, err := os.ReadFile(path); err != nil || lifecycle.DigestBytes(old) != digest {
		if err := b.write(path, content); err != nil {
			return unavailable(err)
		}
	}
	for _, dir := range []string{folder, filepath.Dir(folder), b.root} {
		if err := b.sync(dir); err != nil {
			return unavailable(err)
		}
	}
	return nil
}

// write makes a file under another name and gives it its own when it is whole.
func (b *Blobs) write(path string, content []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "draft-*")
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	if err == nil && !b.noSync {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return nil
}

// Get implements ledger.Blobs. Bytes that are not what their digest says are
// never given out: the error then matches ErrCorrupt.
func (b *Blobs) Get(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !digest.Valid() { // it becomes a file's name
		return nil, fmt.Errorf("%q is no digest of a blob", digest)
	}
	content, err := os.ReadFile(filepath.Join(b.folder(ref), string(digest)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("blob %s of task %s: %w", digest, ref, ledger.ErrNotFound)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if actual := lifecycle.DigestBytes(content); actual != digest {
		return nil, fmt.Errorf("%w: blob %s of task %s has bytes with the digest %s", ErrCorrupt, digest, ref, actual)
	}
	return content, nil
}

// DeleteAll implements ledger.Blobs.
func (b *Blobs) DeleteAll(ctx context.Context, ref lifecycle.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	folder := b.folder(ref)
	if err := os.RemoveAll(folder); err != nil {
		return unavailable(err)
	}
	if err := b.sync(filepath.Dir(folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return nil
}

func (b *Blobs) folder(ref lifecycle.Ref) string {
	return filepath.Join(b.root, encodeName(ref.Tenant), encodeName(string(ref.Task)))
}

func (b *Blobs) sync(dir string) error {
	if b.noSync {
		return nil
	}
	return SyncFolder(dir)
}
