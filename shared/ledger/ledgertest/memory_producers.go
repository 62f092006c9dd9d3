package ledgertest

import (
	"bytes"
	"context"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Producer implements ledger.Tasks.
func (m *Memory) Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ledger.ProducerMark, error) {
	mark := ledger.ProducerMark{Producer: producer}
	err := m.inside(ctx, ref, func(r *record) error {
		if known, is := r.producers[producer]; is {
			mark = known
		}
		return nil
	})
	return mark, err
}

// Refuse implements ledger.Tasks.
func (m *Memory) Refuse(ctx context.Context, ref lifecycle.Ref, refusal ledger.Refusal) error {
	return m.within(ctx, ref, func(r *record) error {
		name := eventName{refusal.Receipt.Producer, refusal.Receipt.EventID}
		if first, known := r.receipts[name]; known {
			return &ledger.ReceiptKnown{Receipt: first}
		}
		remember := r.reject(refusal.Rejected)
		if late := refusal.Late; late != nil {
			r.counts.Quarantined++
			if len(r.late) < lifecycle.MaxQuarantined {
				kept := *late
				kept.Payload = bytes.Clone(late.Payload)
				r.late, remember = append(r.late, kept), true
			}
		}
		if remember {
			r.receipts[name] = refusal.Receipt
		}
		return nil
	})
}

// Quarantine implements ledger.Tasks.
func (m *Memory) Quarantine(ctx context.Context, ref lifecycle.Ref) (out []ledger.Quarantined, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.Clone(r.late)
		return nil
	})
	return out, err
}
