package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// MemoryBlobs is the model of a blob store.
type MemoryBlobs struct {
	mu    sync.Mutex
	tasks map[lifecycle.Ref]map[lifecycle.Digest][]byte
}

// NewMemoryBlobs is an empty blob store.
func NewMemoryBlobs() *MemoryBlobs {
	return &MemoryBlobs{tasks: map[lifecycle.Ref]map[lifecycle.Digest][]byte{}}
}

var _ ledger.Blobs = (*MemoryBlobs)(nil)

var errWrongDigest = errors.New("the bytes do not have the digest under which they are kept")

// Put implements ledger.Blobs.
func (m *MemoryBlobs) Put(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if lifecycle.DigestBytes(content) != digest {
		return fmt.Errorf("putting %s: %w", digest, errWrongDigest)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tasks[ref] == nil {
		m.tasks[ref] = map[lifecycle.Digest][]byte{}
	}
	m.tasks[ref][digest] = slices.Clone(content)
	return nil
}

// Get implements ledger.Blobs.
func (m *MemoryBlobs) Get(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	content, known := m.tasks[ref][digest]
	if !known {
		return nil, ledger.ErrNotFound
	}
	return slices.Clone(content), nil
}

// DeleteAll implements ledger.Blobs.
func (m *MemoryBlobs) DeleteAll(ctx context.Context, ref lifecycle.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tasks, ref)
	return nil
}
