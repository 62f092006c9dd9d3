package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// ProducerMark is how far an outside producer's count of its reports on a task
// has come.
type ProducerMark struct {
	Producer string `json:"producer"`
	Seq      uint64 `json:"seq"`     // of its last accepted report
	EventID  string `json:"eventId"` // of that report
}

// Refusal is a report of an outside producer that was refused, and what is kept of
// it.
type Refusal struct {
	Rejected Rejected
	// Receipt remembers the refusal: its Reason is set.
	Receipt Receipt
	// Late is what the report brought after the task was canceled, nil for nothing.
	Late *Quarantined
}

// Quarantined is output that came after its task was canceled. Nobody who asks for
// the task is shown it.
type Quarantined struct {
	At       time.Time        `json:"at"`
	Producer string           `json:"producer"`
	EventID  string           `json:"eventId"`
	Digest   lifecycle.Digest `json:"digest"`
	Bytes    int              `json:"bytes"`
	// Payload is what was sent, nil when it has more than
	// lifecycle.MaxQuarantinedBytes.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Sent is an event of an outside producer as it was sent.
type Sent struct {
	// Payload is its canonical JSON; Digest is taken over that.
	Payload json.RawMessage
	Digest  lifecycle.Digest
}

// Taken is an event of an outside producer that was accepted, now or before.
type Taken struct {
	Result

	// Repeated says that it was accepted before: the receipt is the first one, and the
	// task is as it is now.
	Repeated bool
}

// Take decides an event of an outside producer: a Grant, a Renew, a Release or a
// Report, from a source with an event ID and, for a Report, a sequence.
//
// Exactly the same event again gives the first receipt and counts as a hit, or the
// first rejection; the same ID with another digest is *EventIDConflict, an incident. A
// report of chunks that name their coordinates and stand there already is a hit too,
// under whatever event ID; the same coordinate with other bytes is an incident. A renewal has no
// receipt: it is asked for again and again. Of what is refused, reports are kept and
// remembered (lifecycle.Reason.Remembered); output that comes after a cancellation
// is quarantined with it.
func (a *Authority) Take(ctx context.Context, ref lifecycle.Ref, cmd lifecycle.Command, src lifecycle.Source, sent Sent) (Taken, error) {
	extra := Extra{Outside: true, Receipt: &Receipt{Producer: src.Producer, EventID: src.EventID, Digest: sent.Digest}}
	if _, renewal := cmd.(lifecycle.Renew); renewal {
		extra.Receipt = nil
	}
	if first, err := a.repeated(ctx, ref, extra.Receipt, src.Fence); first != nil || err != nil {
		return a.again(ctx, ref, first, err)
	}
	t := lifecycle.Task{Head: lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}}
	if _, report := cmd.(lifecycle.Report); !report { // a report's task is read when its place is known
		var err error
		if t, err = a.Load(ctx, ref); err != nil {
			return Taken{}, err
		}
	}
	res, err := a.Do(ctx, t, cmd, src, extra)
	if err == nil && res.Repeats != nil {
		return a.broughtAgain(ctx, res, src, sent)
	}
	if err == nil {
		return Taken{Result: res}, nil
	}
	r, rejected := errors.AsType[*lifecycle.Rejection](err)
	if _, overtaken := errors.AsType[*ReceiptKnown](err); !rejected && !overtaken {
		return Taken{Result: res}, err
	}
	// Whoever sends the same may have come first in the meantime.
	if first, known := a.repeated(ctx, ref, extra.Receipt, src.Fence); first != nil || known != nil {
		return a.again(ctx, ref, first, known)
	}
	report, is := cmd.(lifecycle.Report)
	if !rejected || !is || !r.Reason.Remembered() {
		return Taken{Result: res}, err
	}
	return a.refuse(ctx, res, report, src, *extra.Receipt, sent, r)
}

// again answers an event that was answered before.
func (a *Authority) again(ctx context.Context, ref lifecycle.Ref, first *Receipt, err error) (Taken, error) {
	if err != nil {
		return Taken{}, err
	}
	h, err := a.Ledger.Head(ctx, ref)
	if err != nil {
		return Taken{}, err
	}
	out := Taken{Result: Result{Task: lifecycle.Task{Head: h}, Receipt: first}, Repeated: true}
	if first.Reason != "" {
		return out, &lifecycle.Rejection{Reason: first.Reason, Detail: first.Detail}
	}
	return out, nil
}

// repeated looks an event up among those that were answered: nil for none. Other
// bytes under its ID are an incident.
func (a *Authority) repeated(ctx context.Context, ref lifecycle.Ref, sent *Receipt, fence uint64) (*Receipt, error) {
	if sent == nil {
		return nil, nil
	}
	first, err := a.Ledger.Receipt(ctx, ref, sent.Producer, sent.EventID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case first.Digest != sent.Digest:
		return nil, &EventIDConflict{a.incident(ctx, ref, sent.Producer, fence, &lifecycle.Rejection{
			Reason: lifecycle.ConflictingContent, Detail: "one event ID, two payloads",
		})}
	}
	if err := a.Ledger.Hit(ctx, ref, sent.Producer, sent.EventID); err != nil {
		return nil, err
	}
	first.Hits++
	return &first, nil
}

// broughtAgain answers a report that brought again what stands there, and nothing else:
// with the sequence under which it was accepted, as a lookup hit of that event.
func (a *Authority) broughtAgain(ctx context.Context, res Result, src lifecycle.Source, sent Sent) (Taken, error) {
	ref, there := res.Task.Ref(), res.Repeats
	out := Taken{Result: res, Repeated: true}
	out.Receipt = &Receipt{Producer: src.Producer, EventID: src.EventID, Digest: sent.Digest, Seq: there.Seq, Fence: src.Fence}
	first, err := a.Ledger.Receipt(ctx, ref, there.Producer, there.EventID)
	if errors.Is(err, ErrNotFound) { // it was none of an outside producer's
		return out, nil
	}
	if err == nil {
		err = a.Ledger.Hit(ctx, ref, there.Producer, there.EventID)
	}
	out.Receipt.Hits = first.Hits + 1
	return out, err
}

// refuse keeps a refused report, unless somebody else's same one was answered
// first.
func (a *Authority) refuse(ctx context.Context, res Result, c lifecycle.Report, src lifecycle.Source, receipt Receipt, sent Sent, r *lifecycle.Rejection) (Taken, error) {
	ref, now := res.Task.Ref(), lifecycle.Millis(a.Now())
	receipt.Reason, receipt.Detail, receipt.Fence, receipt.Op = r.Reason, r.Detail, src.Fence, a.NewID()
	kept := Refusal{Receipt: receipt, Rejected: Rejected{
		At: now, Producer: src.Producer, EventID: src.EventID, Reason: r.Reason, Detail: r.Detail, Fence: src.Fence,
	}}
	if r.Reason == lifecycle.PostTerminal && res.Task.State == lifecycle.Canceled && c.Verb != lifecycle.VerbCancel {
		kept.Late = &Quarantined{At: now, Producer: src.Producer, EventID: src.EventID, Digest: sent.Digest, Bytes: len(sent.Payload)}
		if len(sent.Payload) <= lifecycle.MaxQuarantinedBytes {
			kept.Late.Payload = sent.Payload
		}
	}
	err := a.persist(ctx, func() error { return a.Ledger.Refuse(ctx, ref, kept) })
	first, known := errors.AsType[*ReceiptKnown](err)
	switch {
	case known && first.Receipt.Op != receipt.Op:
		again, err := a.repeated(ctx, ref, &receipt, src.Fence)
		return a.again(ctx, ref, again, err)
	case err != nil && !known:
		return Taken{Result: res}, err
	}
	return Taken{Result: res}, r
}

// placed gives a report of an outside producer its place, and reads the task after
// that. The other way round a report could be held against a count that is further than
// the task: in its place, and refused for what the report before it has brought already.
// This way a count that is behind makes it a gap, which is asked again.
func (a *Authority) placed(ctx context.Context, t lifecycle.Task, cmd lifecycle.Command, src lifecycle.Source, extra Extra) (lifecycle.Command, lifecycle.Task, error) {
	r, is := cmd.(lifecycle.Report)
	if !is || !extra.Outside {
		return cmd, t, nil
	}
	mark, err := a.Ledger.Producer(ctx, t.Ref(), src.Producer)
	if err != nil {
		return r, t, err
	}
	r.Place = &lifecycle.Place{Seq: src.Seq, Last: mark.Seq}
	if t, err = a.Load(ctx, t.Ref()); err != nil {
		return r, t, err
	}
	r.Updates, err = a.beheld(ctx, t, r.Updates)
	return r, t, err
}

// beheld reads what stands at the coordinates that chunks name. What an artifact has
// stays as it is, so it is read behind the task.
func (a *Authority) beheld(ctx context.Context, t lifecycle.Task, sent []lifecycle.Update) ([]lifecycle.Update, error) {
	out := slices.Clone(sent)
	for i, u := range out {
		if u.Chunk == nil || !u.Named {
			continue
		}
		k, art := u.Chunk, t.Arts[u.Chunk.Artifact]
		if k.Revision > art.Revision || k.Revision == art.Revision && k.Number > art.Chunks {
			continue
		}
		found, err := a.Ledger.Chunk(ctx, t.Ref(), k.Artifact, k.Revision, k.Number)
		if errors.Is(err, ErrNotFound) { // a revision that was superseded before it got there
			continue
		}
		if err == nil {
			out[i].There, err = a.there(ctx, t.Ref(), found)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// there reads what came with a chunk, and the event that brought it: the first entry of
// its commit has the event's name.
func (a *Authority) there(ctx context.Context, ref lifecycle.Ref, k ChunkReceipt) (*lifecycle.There, error) {
	behind := k.Seq - min(k.Seq, lifecycle.MaxEntriesPerCommit)
	entries, err := a.Ledger.Entries(ctx, ref, behind, int(k.Seq-behind))
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, ErrNotFound // purged a moment ago
	}
	last := entries[len(entries)-1]
	ev, err := last.Event()
	if err != nil || ev.Chunk == nil {
		return nil, errors.Join(fmt.Errorf("task %s: entry %d is no chunk", ref, k.Seq), err)
	}
	first := entries[slices.IndexFunc(entries, func(e lifecycle.Entry) bool { return e.OpID == last.OpID })]
	out := lifecycle.There{Checksum: k.Checksum, Last: ev.Chunk.Last, Producer: first.Producer, EventID: first.EventID, Seq: first.Seq}
	if ev.Checkpoint != nil {
		out.State = ev.Checkpoint.State
	}
	return &out, nil
}

// moves says whether a report's producer's count moves on with it.
func moves(cmd lifecycle.Command) bool {
	r, is := cmd.(lifecycle.Report)
	return is && r.Place != nil && r.Place.Seq > r.Place.Last
}
