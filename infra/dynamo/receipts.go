package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// receiptHits is a receipt's own counter: ledger.Receipt's JSON name.
const receiptHits = "hits"

// Receipt implements ledger.Tasks.
func (l *Ledger) Receipt(ctx context.Context, ref lifecycle.Ref, producer, eventID string) (ledger.Receipt, error) {
	it, err := l.get(ctx, l.tables.Tasks, receiptKey(ref, producer, eventID))
	if err != nil {
		return ledger.Receipt{}, err
	}
	if it == nil {
		return ledger.Receipt{}, noReceipt(ref, eventID)
	}
	r := ledger.Receipt{Producer: producer, EventID: eventID}
	if err := receiptLayout.decode(it, &r); err != nil {
		return ledger.Receipt{}, fmt.Errorf("the receipt of event %q of task %s cannot be read: %w", eventID, ref, err)
	}
	return r, nil
}

// Hit implements ledger.Tasks.
func (l *Ledger) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	var t transaction
	t.update(l.tables.Tasks, receiptKey(ref, producer, eventID), (&expression{}).exists().increase(receiptHits))
	t.update(l.tables.Tasks, headKey(ref), (&expression{}).exists().increase(hitsName))
	err := l.transact(ctx, &t)
	if _, refused := errors.AsType[*refusal](err); refused {
		return noReceipt(ref, eventID)
	}
	return err
}

func noReceipt(ref lifecycle.Ref, eventID string) error {
	return fmt.Errorf("event %q of task %s: %w", eventID, ref, ledger.ErrNotFound)
}
