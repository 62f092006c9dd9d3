package lifecycle

import "time"

// Place is where a report stands in the count of an outside producer: a worker
// that is not our runner counts its reports on a task 1, 2, 3 …, and each is
// taken in its place.
type Place struct {
	// Seq is the report's number, as its producer says.
	Seq uint64
	// Last is that of the producer's last accepted report, 0 for none. The authority
	// reads it beside the head, and writes the new one in the same transaction.
	Last uint64
}

// follows holds a report against its producer's count: what was passed is stale
// for ever, what skips some may come again when they are in. There is no count
// to hold our own runner's reports against.
func (p *Place) follows() *Rejection {
	switch {
	case p == nil:
	case p.Seq == 0:
		return reject(InvalidContent, "a producer counts its reports from 1")
	case p.Seq <= p.Last:
		return reject(StaleSequence, "report %d was passed: the producer's last accepted report is %d", p.Seq, p.Last)
	case p.Seq > p.Last+1:
		return reject(SequenceGap, "report %d skips some: the producer's last accepted report is %d", p.Seq, p.Last)
	}
	return nil
}

// progress is what is reported without moving on. The step and its checkpoint
// stay, unless a state comes with it.
func progress(t Task, c Report, events []Event) (Decision, error) {
	if len(events) == 0 && len(c.State) == 0 {
		return Decision{}, reject(InvalidContent, "a report of nothing: an update or a state is needed")
	}
	if len(c.State) > 0 {
		events = ride(events, &Checkpoint{Step: t.Step, Visit: t.Visit, State: c.State})
	}
	return Decision{After: t.Head, Events: events}, nil
}

// decideLeave leaves a task to workers from outside. No execution is given to it,
// so nobody must look before its life ends or somebody claims it. The fence stays
// its last holder's: that one may come back.
func decideLeave(t Task, now time.Time) (Decision, error) {
	if d, err := overdue(t, now); err != nil {
		return d, err
	}
	switch {
	case Interrupted(t.State):
		return Decision{}, reject(NotDue, "the task is in %s; its pause is open", t.State)
	case t.Leased(now):
		return Decision{}, reject(LeaseHeld, "%s holds the lease until %s", t.Holder, t.LeaseUntil.Format(time.RFC3339Nano))
	case t.Cancel != nil: // whoever was to meet it is gone
		return canceled(t, *t.Cancel)
	}
	after := t.Head
	after.DueAt = t.LifeEndsAt
	return Decision{After: after}, nil
}

// Remembered says whether a producer's report that was refused for a reason is
// answered alike when it comes again. What may be accepted later, as it is or
// corrected, is not remembered.
func (r Reason) Remembered() bool {
	switch r {
	case IllegalTransition, ReceiptRequired, ReceiptInvalid, StaleSequence, PostTerminal, FenceLost, ConflictingContent, PauseExpired:
		return true
	}
	return false
}
