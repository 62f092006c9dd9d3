package ledgertest

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// faultyLedger passes every call of a ledger through the faults.
type faultyLedger struct {
	faults *Faults
	inner  ledger.Ledger
}

// conflict answers a conflict though nothing has changed.
func (l *faultyLedger) conflict(ref lifecycle.Ref) func(context.Context) error {
	return func(ctx context.Context) error {
		h, err := l.inner.Head(ctx, ref)
		if err != nil {
			return err
		}
		return &ledger.Conflict{Current: h}
	}
}

func (l *faultyLedger) Create(ctx context.Context, c ledger.Creation) error {
	return write(ctx, l.faults, Call{Method: "Create", Ref: c.Head.Ref()}, func(ctx context.Context) error { return l.inner.Create(ctx, c) }, nil)
}

func (l *faultyLedger) Commit(ctx context.Context, c ledger.Commit) error {
	return write(ctx, l.faults, Call{Method: "Commit", Ref: c.Seen.Ref()}, func(ctx context.Context) error { return l.inner.Commit(ctx, c) }, l.conflict(c.Seen.Ref()))
}

func (l *faultyLedger) MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, op string) error {
	return write(ctx, l.faults, Call{Method: "MarkCancel", Ref: ref}, func(ctx context.Context) error { return l.inner.MarkCancel(ctx, ref, mark, fence, op) }, l.conflict(ref))
}

func (l *faultyLedger) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	return read(ctx, l.faults, Call{Method: "Head", Ref: ref}, func(ctx context.Context) (lifecycle.Head, error) { return l.inner.Head(ctx, ref) })
}

func (l *faultyLedger) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	return read(ctx, l.faults, Call{Method: "Entries", Ref: ref}, func(ctx context.Context) ([]lifecycle.Entry, error) {
		return l.inner.Entries(ctx, ref, after, limit)
	})
}

func (l *faultyLedger) Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error) {
	return read(ctx, l.faults, Call{Method: "Artifacts", Ref: ref}, func(ctx context.Context) ([]lifecycle.Artifact, error) { return l.inner.Artifacts(ctx, ref) })
}

func (l *faultyLedger) Chunk(ctx context.Context, ref lifecycle.Ref, artifact a2a.ArtifactID, revision, number int) (ledger.ChunkReceipt, error) {
	return read(ctx, l.faults, Call{Method: "Chunk", Ref: ref}, func(ctx context.Context) (ledger.ChunkReceipt, error) {
		return l.inner.Chunk(ctx, ref, artifact, revision, number)
	})
}

func (l *faultyLedger) Key(ctx context.Context, key ledger.Key) (ledger.KeyNote, error) {
	return read(ctx, l.faults, Call{Method: "Key", Ref: lifecycle.Ref{Tenant: key.Tenant}}, func(ctx context.Context) (ledger.KeyNote, error) { return l.inner.Key(ctx, key) })
}

func (l *faultyLedger) Receipt(ctx context.Context, ref lifecycle.Ref, producer, eventID string) (ledger.Receipt, error) {
	return read(ctx, l.faults, Call{Method: "Receipt", Ref: ref}, func(ctx context.Context) (ledger.Receipt, error) {
		return l.inner.Receipt(ctx, ref, producer, eventID)
	})
}

func (l *faultyLedger) Hit(ctx context.Context, ref lifecycle.Ref, producer, eventID string) error {
	return write(ctx, l.faults, Call{Method: "Hit", Ref: ref}, func(ctx context.Context) error { return l.inner.Hit(ctx, ref, producer, eventID) }, nil)
}

func (l *faultyLedger) Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ledger.ProducerMark, error) {
	return read(ctx, l.faults, Call{Method: "Producer", Ref: ref}, func(ctx context.Context) (ledger.ProducerMark, error) {
		return l.inner.Producer(ctx, ref, producer)
	})
}

func (l *faultyLedger) Refuse(ctx context.Context, ref lifecycle.Ref, r ledger.Refusal) error {
	return write(ctx, l.faults, Call{Method: "Refuse", Ref: ref}, func(ctx context.Context) error { return l.inner.Refuse(ctx, ref, r) }, nil)
}

func (l *faultyLedger) Quarantine(ctx context.Context, ref lifecycle.Ref) ([]ledger.Quarantined, error) {
	return read(ctx, l.faults, Call{Method: "Quarantine", Ref: ref}, func(ctx context.Context) ([]ledger.Quarantined, error) { return l.inner.Quarantine(ctx, ref) })
}

func (l *faultyLedger) Reject(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected) error {
	return write(ctx, l.faults, Call{Method: "Reject", Ref: ref}, func(ctx context.Context) error { return l.inner.Reject(ctx, ref, r) }, nil)
}

func (l *faultyLedger) Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error) {
	return read(ctx, l.faults, Call{Method: "Rejections", Ref: ref}, func(ctx context.Context) ([]ledger.Rejected, error) { return l.inner.Rejections(ctx, ref) })
}

func (l *faultyLedger) Act(ctx context.Context, ref lifecycle.Ref, a ledger.Acted) error {
	return write(ctx, l.faults, Call{Method: "Act", Ref: ref}, func(ctx context.Context) error { return l.inner.Act(ctx, ref, a) }, nil)
}

func (l *faultyLedger) Acts(ctx context.Context, ref lifecycle.Ref) ([]ledger.Acted, error) {
	return read(ctx, l.faults, Call{Method: "Acts", Ref: ref}, func(ctx context.Context) ([]ledger.Acted, error) { return l.inner.Acts(ctx, ref) })
}

func (l *faultyLedger) Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error) {
	return read(ctx, l.faults, Call{Method: "Counts", Ref: ref}, func(ctx context.Context) (ledger.Counts, error) { return l.inner.Counts(ctx, ref) })
}

// Watch ends with the process: nobody waits in a dead one.
func (l *faultyLedger) Watch(ctx context.Context, ref lifecycle.Ref, after uint64) error {
	return write(ctx, l.faults, Call{Method: "Watch", Ref: ref}, func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var answer error
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			answer = l.inner.Watch(ctx, ref, after)
		}()
		select {
		case <-returned:
			return answer
		case <-l.faults.Crash.Done():
			stop()
			<-returned
			return ErrCrashed
		}
	}, nil)
}

func (l *faultyLedger) Effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (lifecycle.Effect, error) {
	return read(ctx, l.faults, Call{Method: "Effect", Ref: ref}, func(ctx context.Context) (lifecycle.Effect, error) { return l.inner.Effect(ctx, ref, visit, name) })
}

func (l *faultyLedger) EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error) {
	return read(ctx, l.faults, Call{Method: "EffectList", Ref: ref}, func(ctx context.Context) ([]lifecycle.Effect, error) { return l.inner.EffectList(ctx, ref) })
}

func (l *faultyLedger) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return write(ctx, l.faults, Call{Method: "Intend", Ref: ref}, func(ctx context.Context) error { return l.inner.Intend(ctx, ref, e) }, l.conflict(ref))
}

func (l *faultyLedger) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return write(ctx, l.faults, Call{Method: "Settle", Ref: ref}, func(ctx context.Context) error { return l.inner.Settle(ctx, ref, e) }, nil)
}

func (l *faultyLedger) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (ledger.Parked, error) {
	return read(ctx, l.faults, Call{Method: "Park", Ref: ref}, func(ctx context.Context) (ledger.Parked, error) { return l.inner.Park(ctx, ref, pause, t) })
}

func (l *faultyLedger) Parked(ctx context.Context, ref lifecycle.Ref, pause int) (ledger.Parked, error) {
	return read(ctx, l.faults, Call{Method: "Parked", Ref: ref}, func(ctx context.Context) (ledger.Parked, error) { return l.inner.Parked(ctx, ref, pause) })
}

func (l *faultyLedger) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	question := q
	question.After, question.Now = nil, time.Time{}
	after := ledger.ListCursor{}
	if q.After != nil {
		after = *q.After
	}
	return ask(ctx, l.faults, Call{Method: "List", Ref: lifecycle.Ref{Tenant: q.Tenant}}, []any{question, after}, func(ctx context.Context) (ledger.Page, error) { return l.inner.List(ctx, q) })
}

func (l *faultyLedger) Count(ctx context.Context, q ledger.ListQuery) (ledger.Counted, error) {
	question := q
	question.After, question.Now = nil, time.Time{}
	return ask(ctx, l.faults, Call{Method: "Count", Ref: lifecycle.Ref{Tenant: q.Tenant}}, question, func(ctx context.Context) (ledger.Counted, error) { return l.inner.Count(ctx, q) })
}

func (l *faultyLedger) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	question := ledger.DueCursor{}
	if after != nil {
		question = *after
	}
	return ask(ctx, l.faults, Call{Method: "Due", Ref: lifecycle.Ref{}}, question, func(ctx context.Context) (ledger.DuePage, error) {
		return l.inner.Due(ctx, before, after, limit)
	})
}

func (l *faultyLedger) Changes(ctx context.Context, after string, limit int) ([]ledger.Change, error) {
	return read(ctx, l.faults, Call{Method: "Changes", Ref: lifecycle.Ref{}}, func(ctx context.Context) ([]ledger.Change, error) { return l.inner.Changes(ctx, after, limit) })
}
