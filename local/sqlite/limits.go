package sqlite

import (
	"fmt"
)

// What DynamoDB refuses is refused here too, so that nobody learns of it in
// production (TransactWriteItems, API reference). Its units are read as the
// smaller ones: 400 KB are 400,000 bytes.
const (
	maxItems     = 100
	maxItemBytes = 400_000
	maxBytes     = 4_000_000
)

// weight adds up what a transaction on DynamoDB would carry.
type weight struct {
	items, bytes int
}

// add counts one item. Its name is for the message.
func (w *weight) add(name string, size int) error {
	w.items++
	w.bytes += size
	switch {
	case size > maxItemBytes:
		return fmt.Errorf("%s has %d bytes; an item has at most %d", name, size, maxItemBytes)
	case w.items > maxItems:
		return fmt.Errorf("a commit has at most %d items", maxItems)
	case w.bytes > maxBytes:
		return fmt.Errorf("a commit has at most %d bytes", maxBytes)
	}
	return nil
}
