package receiver

import (
	"errors"
	"testing"
)

var errDisk = errors.New("no space left on device")

// medium is a disk that remembers what it was asked for, and fails at one of its syncs.
type medium struct {
	calls string
	fail  int // the sync that fails, from 1
	syncs int
}

// Write implements io.Writer.
func (m *medium) Write(b []byte) (int, error) {
	m.calls += "w"
	return len(b), nil
}

// Sync implements disk.
func (m *medium) Sync() error {
	m.calls += "s"
	if m.syncs++; m.syncs == m.fail {
		return errDisk
	}
	return nil
}

// Close implements io.Closer.
func (m *medium) Close() error { return nil }

// An update is taken when it was written and synced, and not before. After a sync that
// has failed nothing is taken any more, though the disk says that it is well again.
func TestSyncs(t *testing.T) {
	m := &medium{fail: 3}
	b := &Inbox{file: m, last: map[string]uint64{}, ids: map[string]struct{}{}}
	for i, want := range []struct {
		seq   uint64
		calls string
		fails bool
	}{{1, "ws", false}, {2, "wsws", false}, {2, "wsws", false}, {3, "wswsws", true}, {3, "wswsws", true}, {4, "wswsws", true}, {2, "wswsws", false}} {
		_, err := b.Take(t.Context(), Update{ID: string(rune('a' + want.seq)), Task: "T", Sequence: want.seq})
		if m.calls != want.calls || (err != nil) != want.fails || err != nil && !errors.Is(err, errDisk) {
			t.Errorf("update %d: the disk was asked for %s, %v", i+1, m.calls, err)
		}
	}
}
