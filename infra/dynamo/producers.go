package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// seqAttribute is where a producer's mark has its sequence: ledger.ProducerMark's
// JSON name.
const seqAttribute = "seq"

// Producer implements ledger.Tasks.
func (l *Ledger) Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ledger.ProducerMark, error) {
	m := ledger.ProducerMark{Producer: producer}
	it, err := l.get(ctx, l.tables.Tasks, producerKey(ref, producer))
	if err != nil || it == nil {
		return m, err
	}
	if err := producerLayout.decode(it, &m); err != nil {
		return m, fmt.Errorf("the mark of producer %q of task %s cannot be read: %w", producer, ref, err)
	}
	return m, nil
}

// Refuse implements ledger.Tasks. The counters on the head give what is kept its
// numbers and are the condition that it is written under; beyond the caps they
// alone rise.
func (l *Ledger) Refuse(ctx context.Context, ref lifecycle.Ref, r ledger.Refusal) error {
	it, err := l.get(ctx, l.tables.Tasks, headKey(ref), seqName, rejectionsName, lateName)
	if err != nil {
		return err
	}
	for range rejectRounds {
		if headOf(it) == nil {
			return noTask(ref)
		}
		receipt, err := l.keepRefusal(ctx, ref, r, countOf(it, rejectionsName), countOf(it, lateName))
		refused, is := errors.AsType[*refusal](err)
		if !is {
			return err
		}
		if known := refused.at(receipt); known.failed {
			return receiptKnown(known.old, r.Receipt)
		}
		if it = refused.at(0).old; !refused.at(0).failed {
			return fmt.Errorf("task %s: a place that the head knows as free has something in it", ref)
		}
	}
	return fmt.Errorf("counting a refusal of task %s: %w", ref, ledger.ErrBusy)
}

// keepRefusal writes a refusal after so many rejections, and so many pieces of late
// output. *refusal: there are more, or the event has a receipt, whose place in the
// transaction is answered.
func (l *Ledger) keepRefusal(ctx context.Context, ref lifecycle.Ref, r ledger.Refusal, rejections, late int) (receipt int, err error) {
	table := l.tables.Tasks
	head := (&expression{}).headExists().increase(rejectionsName).below(rejectionsName, rejections, lifecycle.MaxRejections)
	if r.Rejected.Reason == lifecycle.ConflictingContent {
		head.increase(incidentsName)
	}
	if r.Late != nil {
		head.increase(lateName).below(lateName, late, lifecycle.MaxQuarantined)
	}
	var t transaction
	t.update(table, headKey(ref), head) // action 0
	remember := rejections < lifecycle.MaxRejections
	if remember {
		t.putRecord(table, rejectedKey(ref, rejections+1), plainLayout, r.Rejected, (&expression{}).isNew())
	}
	if r.Late != nil && late < lifecycle.MaxQuarantined {
		remember = true
		t.putRecord(table, lateKey(ref, late+1), plainLayout, *r.Late, (&expression{}).isNew())
	}
	k := receiptKey(ref, r.Receipt.Producer, r.Receipt.EventID)
	if remember {
		receipt = t.putRecord(table, k, receiptLayout, r.Receipt, (&expression{}).isNew())
	} else {
		receipt = len(t.actions)
		t.check(table, k, (&expression{}).isNew())
	}
	return receipt, l.transact(ctx, &t)
}

// below demands that a counter is what it was, or that it has stayed at or above
// its cap.
func (x *expression) below(attribute string, was, most int) *expression {
	if was >= most {
		return x.compare(attribute, ">=", number(uint64(most)))
	}
	return x.is(attribute, numberOrNone(uint64(was)))
}

// Quarantine implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Quarantine(ctx context.Context, ref lifecycle.Ref) ([]ledger.Quarantined, error) {
	return plainChildren[ledger.Quarantined](ctx, l, ref, latePrefix, "quarantine")
}
