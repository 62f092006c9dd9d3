package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// witness is the ledger below all faults. It sees every write that took effect, one at
// a time, and holds it against the invariants that can be seen on a write: not what
// the rules decided, but what the ledger let happen.
type witness struct {
	ledger.Ledger

	w *world

	mu   sync.Mutex
	refs []lifecycle.Ref // in the order of their creation
	of   map[a2a.TaskID]lifecycle.Ref
	// noted are the tasks of which somebody has told, by what it was.
	noted map[noted]bool
}

func newWitness(w *world, l ledger.Ledger) *witness {
	return &witness{Ledger: l, w: w, of: map[a2a.TaskID]lifecycle.Ref{}, noted: map[noted]bool{}}
}

// tasks are all that were created.
func (x *witness) tasks() []lifecycle.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]lifecycle.Ref(nil), x.refs...)
}

// ref finds a task by its ID alone.
func (x *witness) ref(id a2a.TaskID) (lifecycle.Ref, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ref, known := x.of[id]
	return ref, known
}

// Create implements ledger.Tasks.
func (x *witness) Create(ctx context.Context, c ledger.Creation) error {
	err := x.Ledger.Create(ctx, c)
	if err != nil {
		return err
	}
	ref := c.Head.Ref()
	x.mu.Lock()
	defer x.mu.Unlock()
	if other, known := x.of[ref.Task]; known {
		x.w.broken("I1", "task %s was created twice, the first time as %s", ref, other)
	}
	x.refs = append(x.refs, ref)
	x.of[ref.Task] = ref
	if c.Head.Agent == "outsider" {
		x.w.outsiders[ref.Task] = true
	}
	return nil
}

// Commit implements ledger.Tasks.
func (x *witness) Commit(ctx context.Context, c ledger.Commit) error {
	ref := c.Seen.Ref()
	before, errBefore := x.Ledger.Head(ctx, ref)
	err := x.Ledger.Commit(ctx, c)
	if err != nil || errBefore != nil {
		return err
	}
	after, err := x.Ledger.Head(ctx, ref)
	if err != nil {
		return nil //nolint:nilerr // the commit itself has succeeded
	}
	for _, detail := range written(before, after, c) {
		x.w.broken(detail.Invariant, "task %s, entry %d: %s", ref, after.Seq, detail.Detail)
	}
	return nil
}

// written is what is wrong with a commit that was taken.
func written(before, after lifecycle.Head, c ledger.Commit) (out []lifecycle.Broken) {
	want := func(ok bool, invariant, format string, args ...any) {
		if !ok {
			out = append(out, lifecycle.Broken{Invariant: invariant, Detail: fmt.Sprintf(format, args...)})
		}
	}
	// An acknowledged export is noted on the head of an ended task, and is no entry.
	want(!before.Terminal() || len(c.Entries) == 0 && after.State == before.State && after.Seq == before.Seq && after.Holder == "",
		"I2", "the task had ended as %s, and %d entries were written", before.State, len(c.Entries))
	want(c.Seen.Seq == before.Seq, "I1", "the writer saw entry %d, there was %d", c.Seen.Seq, before.Seq)
	want((c.Seen.Cancel == nil) == (before.Cancel == nil), "I2", "the writer saw a cancellation: %t, there was one: %t", c.Seen.Cancel != nil, before.Cancel != nil)
	want(c.Seen.Fence == before.Fence, "I3", "the writer saw fence %d, there was %d", c.Seen.Fence, before.Fence)
	want(after.Fence >= before.Fence, "I3", "the fence fell from %d to %d", before.Fence, after.Fence)
	granted := after.Holder != "" && (after.Turns > before.Turns || after.Holder != before.Holder || after.Generation != before.Generation)
	want(!granted || after.Fence == before.Fence+1, "I3", "%s was granted a lease under fence %d, the one before had %d", after.Holder, after.Fence, before.Fence)
	want(granted || after.Fence == before.Fence, "I3", "the fence rose from %d to %d without a lease", before.Fence, after.Fence)
	for i, e := range c.Entries {
		want(e.Seq == before.Seq+uint64(i)+1, "I1", "entry %d follows entry %d", e.Seq, before.Seq+uint64(i))
		want(e.Fence == 0 || e.Fence == before.Fence && e.Holder == before.Holder, "I3",
			"an entry of %s under fence %d while %s had the lease under fence %d", e.Holder, e.Fence, before.Holder, before.Fence)
		if e.Type == lifecycle.TypeReply || e.Type == lifecycle.TypeAuthorized {
			want(before.Pause != nil && e.AcceptedAt.Before(before.Pause.DeadlineAt), "I8",
				"a %s at %s, the pause is %+v", e.Type, e.AcceptedAt, before.Pause)
			want(after.Pause == nil && c.Answered != 0, "I8", "a %s that leaves its pause open", e.Type)
		}
	}
	if n := len(c.Entries); n > 0 {
		want(after.Chain == c.Entries[n-1].Chain && after.Seq == c.Entries[n-1].Seq, "I1", "the head is not where its entries end")
	}
	without := []a2a.TaskState{lifecycle.AuthRequired, lifecycle.Failed, lifecycle.Canceled, lifecycle.Rejected}
	if before.State == lifecycle.AuthRequired && !slices.Contains(without, after.State) {
		want(len(c.Entries) > 0 && c.Entries[0].Type == lifecycle.TypeAuthorized, "I12", "auth-required was left towards %s without a receipt", after.State)
	}
	return out
}

// Settle implements ledger.Effects.
func (x *witness) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	before, errBefore := x.Ledger.Effect(ctx, ref, e.Visit, e.Name)
	err := x.Ledger.Settle(ctx, ref, e)
	if err == nil && errBefore == nil && before.State == lifecycle.EffectDone && (e.State != lifecycle.EffectDone || string(e.Result) != string(before.Result)) {
		x.w.broken("I7", "task %s: the result of effect %s was recorded and is written over", ref, e.Key)
	}
	return err
}

// Intend implements ledger.Effects.
func (x *witness) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	before, errBefore := x.Ledger.Effect(ctx, ref, e.Visit, e.Name)
	h, errHead := x.Ledger.Head(ctx, ref)
	err := x.Ledger.Intend(ctx, ref, e)
	if err != nil {
		return err
	}
	if errBefore == nil && before.State == lifecycle.EffectDone {
		x.w.broken("I7", "task %s: effect %s is recorded and is begun again", ref, e.Key)
	}
	if errHead == nil && (h.Fence != e.Fence || h.Cancel != nil || h.Terminal()) {
		x.w.broken("I3", "task %s: effect %s was begun under fence %d, the lease has %d (%s, canceled: %t)", ref, e.Key, e.Fence, h.Fence, h.State, h.Cancel != nil)
	}
	return nil
}

// Deliver implements ledger.Endpoints.
func (x *witness) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	err := x.Ledger.Deliver(ctx, ref, id, d)
	if err == nil {
		x.w.hooks.moved(ref, id, d)
	}
	return err
}

// BeginPurge implements ledger.Purges.
func (x *witness) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	h, known := x.Ledger.Head(ctx, ref)
	p, err := x.Ledger.BeginPurge(ctx, ref, now)
	const clocks = 3 * time.Second // may differ so much
	if err == nil && known == nil && !h.Expired(time.Now().Add(clocks)) {
		x.w.broken("I8", "task %s is purged: it is %s, and can be read until %s", ref, h.State, h.ExpiresAt)
	}
	return p, err
}

// MarkCancel implements ledger.Tasks.
func (x *witness) MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, op string) error {
	err := x.Ledger.MarkCancel(ctx, ref, mark, fence, op)
	if c, is := errors.AsType[*ledger.Conflict](err); is && c.Current.Terminal() {
		x.w.hit("a cancellation came after the end")
	}
	if err == nil {
		x.w.hit("a cancellation was marked")
	}
	return err
}
