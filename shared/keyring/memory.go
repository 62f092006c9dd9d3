package keyring

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// Memory is a store for one process: its keys end with it.
type Memory struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// Secret implements Store.
func (m *Memory) Secret(_ context.Context, name string, fresh []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[name] == nil && fresh != nil {
		if m.kept == nil {
			m.kept = map[string][]byte{}
		}
		m.kept[name] = slices.Clone(fresh)
	}
	return slices.Clone(m.kept[name]), nil
}

// Replace implements Store.
func (m *Memory) Replace(_ context.Context, name string, old, fresh []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[name] == nil || !bytes.Equal(m.kept[name], old) {
		return false, nil
	}
	m.kept[name] = slices.Clone(fresh)
	return true, nil
}
