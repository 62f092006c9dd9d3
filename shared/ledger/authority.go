package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of the optimistic loop. A commit that meets nobody takes one round.
const (
	maxRounds   = 16 // times another one may come first
	maxTries    = 5  // times the ledger may be unavailable
	firstPause  = 10 * time.Millisecond
	pauseFactor = 2
)

// Authority decides commands and commits what was decided. It is the only place
// that assigns sequences.
type Authority struct {
	Ledger Ledger
	// Now is the clock of the authority: it stamps entries and judges deadlines.
	Now func() time.Time
	// NewID gives operation IDs; no two are equal.
	NewID func() string
}

// Result is a command that was decided and committed.
type Result struct {
	// Task is the task after the commit, as far as this command is concerned.
	Task lifecycle.Task
	// Entries are the entries that the command wrote.
	Entries []lifecycle.Entry
	// Marked says that a cancellation waits for the holder.
	Marked bool
	// Answered is the pause that was closed, 0 for none.
	Answered int
	// Receipt is what was remembered, nil for nothing.
	Receipt *Receipt
	// Repeats is what a report brought again and nothing else, nil for none.
	Repeats *lifecycle.There
}

// Extra is what a commit carries beside its entries.
type Extra struct {
	// Receipt remembers the event under the sequence of its first entry.
	Receipt *Receipt
	// Outside says that the event is an outside producer's: a report is held against
	// its count and moves it on, and the receipt says under which fence it came.
	Outside bool
}

// Load reads the head and, if there are any, the artifacts.
func (a *Authority) Load(ctx context.Context, ref lifecycle.Ref) (lifecycle.Task, error) {
	h, err := a.Ledger.Head(ctx, ref)
	if err != nil {
		return lifecycle.Task{}, err
	}
	return a.complete(ctx, h)
}

func (a *Authority) complete(ctx context.Context, h lifecycle.Head) (lifecycle.Task, error) {
	t := lifecycle.Task{Head: h}
	if h.Artifacts == 0 {
		return t, nil
	}
	arts, err := a.Ledger.Artifacts(ctx, h.Ref())
	if err != nil {
		return t, err
	}
	t.Arts = make(map[a2a.ArtifactID]lifecycle.Artifact, len(arts))
	for _, art := range arts {
		t.Arts[art.ID] = art
	}
	return t, nil
}

// Do decides a command on a task as the caller knows it and commits what was
// decided. When somebody else came first it decides again on what is there now;
// *ReceiptKnown: it was the same event.
// A *lifecycle.Rejection is the answer that the command is not allowed; what it
// came with is committed.
func (a *Authority) Do(ctx context.Context, t lifecycle.Task, cmd lifecycle.Command, src lifecycle.Source, extra Extra) (Result, error) {
	op, current := a.NewID(), t
	for range maxRounds {
		cmd, t, err := a.placed(ctx, current, cmd, src, extra)
		if err != nil {
			return Result{}, err
		}
		now := a.Now() // one instant judges the command and stamps its entries
		d, rejection := lifecycle.Decide(t, cmd, now)
		if rejection != nil && len(d.Events) == 0 {
			return Result{Task: t}, rejection
		}
		from, with := src, extra
		if rejection != nil {
			// An event that was refused is not remembered as accepted, and what its refusal
			// commits is not its producer's.
			from, with = lifecycle.Source{Producer: "authority"}, Extra{}
		}
		var res Result
		if d.Repeats != nil && !moves(cmd) {
			return Result{Task: t, Repeats: d.Repeats}, nil // an earlier report of the producer's count
		}
		if d.Mark != nil {
			res, err = a.mark(ctx, t, *d.Mark, op)
		} else {
			res, err = a.commit(ctx, t, d, from, op, with, cmd, now)
		}
		conflict, overtaken := errors.AsType[*Conflict](err)
		if overtaken && d.Mark == nil && ownSuccess(conflict, op) {
			// The result is what this operation wrote, not what is there now: somebody
			// else's fence is not one's own (I3).
			overtaken, err = false, nil
		}
		if !overtaken {
			if err == nil {
				err = rejection
			}
			return res, err
		}
		if err := a.known(ctx, t.Ref(), extra.Receipt); err != nil {
			if first, ok := errors.AsType[*ReceiptKnown](err); ok && first.Receipt.Op == op {
				return res, nil // and somebody else came after it
			}
			return Result{}, err
		}
		if current, err = a.complete(ctx, conflict.Current); err != nil {
			return Result{}, err
		}
	}
	return Result{}, ErrBusy
}

// known looks whether the one who came first brought the same event.
func (a *Authority) known(ctx context.Context, ref lifecycle.Ref, r *Receipt) error {
	if r == nil {
		return nil
	}
	found, err := a.Ledger.Receipt(ctx, ref, r.Producer, r.EventID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &ReceiptKnown{found}
}

// ownSuccess recognises a commit whose answer was lost.
func ownSuccess(c *Conflict, op string) bool { return c.NextOp == op || c.Current.Op == op }

func (a *Authority) commit(ctx context.Context, t lifecycle.Task, d lifecycle.Decision, src lifecycle.Source, op string, with Extra, cmd lifecycle.Command, now time.Time) (Result, error) {
	next, entries, err := lifecycle.Seal(t, d, src, op, now)
	if err != nil {
		return Result{}, err
	}
	c := Commit{Seen: t.Head, Head: next.Head, Entries: entries, Answered: d.Answered}
	if err := collect(&c, next); err != nil {
		return Result{}, err
	}
	res := Result{Task: next, Entries: entries, Answered: d.Answered, Receipt: with.receipt(next.Head, entries, op), Repeats: d.Repeats}
	if res.Receipt != nil && d.Repeats != nil {
		res.Receipt.Seq = d.Repeats.Seq
	}
	if res.Receipt != nil {
		c.Receipts = []Receipt{*res.Receipt}
	}
	if r, is := cmd.(lifecycle.Report); is && with.Outside {
		c.Producer = &ProducerMark{Producer: src.Producer, Seq: r.Place.Seq, EventID: src.EventID}
	}
	err = a.persist(ctx, func() error { return a.Ledger.Commit(ctx, c) })
	return res, err
}

// receipt is what a commit remembers of its event, nil for nothing.
func (x Extra) receipt(next lifecycle.Head, entries []lifecycle.Entry, op string) *Receipt {
	if x.Receipt == nil {
		return nil
	}
	r := *x.Receipt
	r.Seq = next.Seq
	if len(entries) > 0 {
		r.Seq = entries[0].Seq
	}
	if x.Outside {
		r.Fence, r.Op = next.Fence, op
	}
	return &r
}

// collect adds what the entries' chunks leave behind.
func collect(c *Commit, next lifecycle.Task) error {
	touched := map[a2a.ArtifactID]bool{}
	for _, e := range c.Entries {
		if e.Type != lifecycle.TypeChunk {
			continue
		}
		ev, err := e.Event()
		if err != nil {
			return err
		}
		k := ev.Chunk
		c.Chunks = append(c.Chunks, ChunkReceipt{Artifact: k.Artifact, Revision: k.Revision, Number: k.Number, Checksum: k.Checksum, Seq: e.Seq})
		if !touched[k.Artifact] {
			touched[k.Artifact] = true
			c.Artifacts = append(c.Artifacts, next.Arts[k.Artifact])
		}
	}
	return nil
}

func (a *Authority) mark(ctx context.Context, t lifecycle.Task, mark lifecycle.CancelMark, op string) (Result, error) {
	err := a.persist(ctx, func() error { return a.Ledger.MarkCancel(ctx, t.Ref(), mark, t.Fence, op) })
	if err != nil {
		return Result{}, err
	}
	t.Cancel = &mark
	return Result{Task: t, Marked: true}, nil
}

// Create submits a task. When the key belongs to a task already, *KeyTaken says
// to which; an own success whose answer was lost is a success. Endpoints are written
// with the task, or not at all.
func (a *Authority) Create(ctx context.Context, ref lifecycle.Ref, cmd lifecycle.Submit, src lifecycle.Source, key *Key, endpoints ...Endpoint) (Result, error) {
	op := a.NewID()
	empty := lifecycle.Task{Head: lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}}
	now := a.Now()
	d, err := lifecycle.Decide(empty, cmd, now)
	if err != nil {
		return Result{}, err
	}
	next, entries, err := lifecycle.Seal(empty, d, src, op, now)
	if err != nil {
		return Result{}, err
	}
	if key != nil {
		next.Key = key.Hash
	}
	c := Creation{Head: next.Head, Entries: entries, Key: key, Note: KeyNote{Task: ref.Task, RequestDigest: cmd.RequestDigest, Op: op}, Endpoints: endpoints}
	err = a.persist(ctx, func() error { return a.Ledger.Create(ctx, c) })
	res := Result{Task: next, Entries: entries}
	if taken, ok := errors.AsType[*KeyTaken](err); ok && taken.Note.Op == op {
		return res, nil
	}
	if conflict, ok := errors.AsType[*Conflict](err); ok && ownSuccess(conflict, op) {
		return res, nil
	}
	return res, err
}

// persist repeats a write whose outcome is unknown. The same operation ID makes
// the repetition harmless.
func (a *Authority) persist(ctx context.Context, write func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := write()
		if !errors.Is(err, ErrUnavailable) || try == maxTries {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause *= pauseFactor
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
