package ledgertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// ErrTorn is why a head of Torn cannot be read.
var ErrTorn = errors.New("the head is torn")

// Torn is a ledger in which the head of one task cannot be read by whoever asks what is
// due.
type Torn struct {
	ledger.Ledger

	Task lifecycle.Ref
}

// Due implements ledger.Index.
func (t Torn) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	page, err := t.Ledger.Due(ctx, before, after, limit)
	page.Heads = slices.DeleteFunc(page.Heads, func(h lifecycle.Head) bool {
		if h.Ref() == t.Task {
			page.Unread = append(page.Unread, ledger.Unread{Ref: t.Task, Err: ErrTorn})
		}
		return h.Ref() == t.Task
	})
	return page, err
}
