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
	r, err := decodeReceipt(it, producer, eventID)
	if err != nil {
		return r, fmt.Errorf("task %s: %w", ref, err)
	}
	return r, nil
}

func decodeReceipt(it item, producer, eventID string) (ledger.Receipt, error) {
	r := ledger.Receipt{Producer: producer, EventID: eventID}
	if err := receiptLayout.decode(it, &r); err != nil {
		return ledger.Receipt{}, fmt.Errorf("the receipt of event %q cannot be read: %w", eventID, err)
	}
	return r, nil
}

// receiptKnown is the refusal of an event whose receipt is there.
func receiptKnown(old item, sent ledger.Receipt) error {
	first, err := decodeReceipt(old, sent.Producer, sent.EventID)
	if err != nil {
		return err
	}
	return &ledger.ReceiptKnown{Receipt: first}
}

// Hit implements ledger.Tasks.
func (l *Ledger) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	var t transaction
	t.update(l.tables.Tasks, receiptKey(ref, producer, eventID), (&expression{}).exists().increase(receiptHits))
	t.update(l.tables.Tasks, headKey(ref), (&expression{}).headExists().increase(hitsName))
	err := l.transact(ctx, &t)
	if _, refused := errors.AsType[*refusal](err); refused {
		return noReceipt(ref, eventID)
	}
	return err
}

func noReceipt(ref lifecycle.Ref, eventID string) error {
	return fmt.Errorf("event %q of task %s: %w", eventID, ref, ledger.ErrNotFound)
}
