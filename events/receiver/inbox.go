package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Inbox is a Store in one file: the updates in the order in which they were taken, one
// line of JSON each. What works on them reads the file and remembers how far it is. It
// only grows; one process at a time writes it.
type Inbox struct {
	path string

	mu   sync.Mutex
	file disk
	// last is each task's last sequence, ids what was taken.
	last map[string]uint64
	ids  map[string]struct{}
	// broken is why nothing can be taken any more: what is in the file is not known.
	broken error
}

// disk is what is written to.
type disk interface {
	io.WriteCloser
	Sync() error
}

// OpenInbox opens the file, and makes it where it is absent. A line that was cut off when
// the power failed was never acknowledged, and is removed.
func OpenInbox(path string) (*Inbox, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	b := &Inbox{path: path, file: file, last: map[string]uint64{}, ids: map[string]struct{}{}}
	if err := b.load(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	// The file's name is to survive a power failure as well.
	folder, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return b, nil
}

func (b *Inbox) load(file *os.File) error {
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := 0
	for number := 1; whole < len(content); number++ {
		end := bytes.IndexByte(content[whole:], '\n')
		var u Update
		if end < 0 || json.Unmarshal(content[whole:whole+end], &u) != nil || u.Task == "" {
			if rest := content[whole:]; end >= 0 && len(rest) > end+1 {
				return fmt.Errorf("line %d is none of an inbox", number)
			}
			break
		}
		b.note(u)
		whole += end + 1
	}
	if whole == len(content) {
		return nil
	}
	return errors.Join(file.Truncate(int64(whole)), file.Sync())
}

// Take implements Store.
func (b *Inbox) Take(_ context.Context, u Update) (Outcome, error) {
	line, err := json.Marshal(u)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.ids[u.ID]; known {
		return Repeat, nil
	}
	if u.Sequence <= b.last[u.Task] {
		return Late, nil
	}
	if b.broken != nil {
		return "", b.broken
	}
	_, err = b.file.Write(append(line, '\n'))
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		// After a write or a sync that has failed, what a later one confirms is anybody's
		// guess. The next start reads what is there.
		b.broken = fmt.Errorf("the inbox has to be opened anew: %w", err)
		return "", b.broken
	}
	b.note(u)
	return Taken, nil
}

func (b *Inbox) note(u Update) {
	b.last[u.Task] = max(b.last[u.Task], u.Sequence)
	b.ids[u.ID] = struct{}{}
}

// Updates reads what was taken, in order.
func (b *Inbox) Updates() ([]Update, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	var out []Update
	for line := range bytes.Lines(content) {
		var u Update
		if err := json.Unmarshal(line, &u); err != nil {
			return out, err
		}
		out = append(out, u)
	}
	return out, nil
}

// Close closes the file.
func (b *Inbox) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = os.ErrClosed
	return b.file.Close()
}
