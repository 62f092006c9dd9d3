package ledgertest

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var cancelTests = []test{
	{"a mark is on the head and nothing else changes", cancelMark},
	{"the first mark stays", cancelFirstStays},
	{"a mark is guarded by the fence (I3)", cancelFence},
	{"an ended task takes no mark (I2)", cancelEnded},
	{"a busy holder cannot starve a mark", cancelNotStarved},
	{"nobody holds the lease: canceled at once", cancelAtOnce},
	{"the holder meets the mark: canceled", cancelMet},
	{"the holder had got there: completed, with the request in its history", cancelCompleted},
	{"a dead holder's successor decides", cancelSuccessor},
	{"a renewal meets the mark", cancelRenewal},
}

func cancelMark(b *bench) {
	t := b.working("holder")
	entries := b.entries(t.Ref())
	mark := lifecycle.CancelMark{Principal: "principal", At: lifecycle.Millis(b.clock.Now())}
	b.ok(b.ledger.MarkCancel(b.ctx, t.Ref(), mark, t.Fence, "op-mark"))
	h, want := b.head(t.Ref()), t.Head
	want.Cancel = &mark
	want.Op = h.Op // may become the mark's or stay: a repeated mark changes nothing, so nobody looks for it
	b.is("the head", h, want)
	b.is("the entries", b.entries(t.Ref()), entries)
}

func cancelFirstStays(b *bench) {
	t := b.working("holder")
	first := lifecycle.CancelMark{Principal: "first", At: lifecycle.Millis(b.clock.Now())}
	b.ok(b.ledger.MarkCancel(b.ctx, t.Ref(), first, t.Fence, "op-1"))
	second := lifecycle.CancelMark{Principal: "second", At: first.At.Add(time.Second)}
	b.ok(b.ledger.MarkCancel(b.ctx, t.Ref(), second, t.Fence, "op-2"))
	b.is("the mark", b.head(t.Ref()).Cancel, &first)
	b.ok(b.ledger.MarkCancel(b.ctx, t.Ref(), first, t.Fence, "op-1"))
	b.is("the mark", b.head(t.Ref()).Cancel, &first)
}

func cancelFence(b *bench) {
	t := b.granted(b.working("holder"), "holder")
	for _, fence := range []uint64{0, t.Fence - 1, t.Fence + 1} {
		b.untouched(t.Ref(), "a mark under another fence", func() {
			b.conflict("a mark under another fence", b.ledger.MarkCancel(b.ctx, t.Ref(), lifecycle.CancelMark{}, fence, "op"), t.Ref())
		})
	}
}

func cancelEnded(b *bench) {
	for _, verb := range []lifecycle.Verb{lifecycle.VerbComplete, lifecycle.VerbFail, lifecycle.VerbReject} {
		t := b.reported(b.working("holder"), ending(verb))
		b.untouched(t.Ref(), "a mark on an ended task", func() {
			b.conflict("a mark on an ended task", b.ledger.MarkCancel(b.ctx, t.Ref(), lifecycle.CancelMark{}, t.Fence, "op"), t.Ref())
		})
	}
	t := b.submitted()
	res, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.conflict("a mark on a canceled task", b.ledger.MarkCancel(b.ctx, t.Ref(), lifecycle.CancelMark{}, res.Task.Fence, "op"), t.Ref())
}

func cancelNotStarved(b *bench) {
	seen := b.working("holder")
	t := seen
	for range 3 {
		t = b.reported(t, progress())
	}
	res, err := b.cancel(b.ctx, seen) // on an old picture, in one round
	b.ok(err)
	if !res.Marked {
		b.Fatal("the request was not marked")
	}
	if b.head(t.Ref()).Cancel == nil {
		b.Fatal("the head has no mark")
	}
}

// wantHistory compares the types of a task's entries.
func (b *bench) wantHistory(ref lifecycle.Ref, state a2a.TaskState, want ...lifecycle.EntryType) {
	b.Helper()
	t := b.task(ref)
	types := make([]lifecycle.EntryType, 0, len(want))
	for _, e := range b.entries(ref) {
		types = append(types, e.Type)
	}
	b.is("the history", types, want)
	b.is("the state", t.State, state)
}

func cancelAtOnce(b *bench) {
	t := b.submitted()
	res, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.is("marked", res.Marked, false)
	b.wantHistory(t.Ref(), lifecycle.Canceled, lifecycle.TypeSubmitted, lifecycle.TypeCancelRequested, lifecycle.TypeEnded)

	paused, err := b.paused(b.ctx)
	b.ok(err)
	res, err = b.cancel(b.ctx, paused)
	b.ok(err)
	b.is("the pause that was closed", res.Answered, 1)
	b.wantHistory(paused.Ref(), lifecycle.Canceled, lifecycle.TypeSubmitted, lifecycle.TypeStarted, lifecycle.TypePaused, lifecycle.TypeCancelRequested, lifecycle.TypeEnded)
}

func cancelMet(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.reported(t, progress())
	b.wantHistory(t.Ref(), lifecycle.Canceled, lifecycle.TypeSubmitted, lifecycle.TypeStarted, lifecycle.TypeCancelRequested, lifecycle.TypeEnded)
}

func cancelCompleted(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.reported(t, ending(lifecycle.VerbComplete))
	b.wantHistory(t.Ref(), lifecycle.Completed, lifecycle.TypeSubmitted, lifecycle.TypeStarted, lifecycle.TypeCancelRequested, lifecycle.TypeEnded)
}

func cancelSuccessor(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	b.clock.Advance(lease)
	b.granted(b.task(t.Ref()), "successor")
	b.wantHistory(t.Ref(), lifecycle.Canceled, lifecycle.TypeSubmitted, lifecycle.TypeStarted, lifecycle.TypeCancelRequested, lifecycle.TypeEnded)
}

func cancelRenewal(b *bench) {
	t := b.working("holder")
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	_, err = b.auth.Do(b.ctx, t, lifecycle.Renew{Holder: "holder", Fence: t.Fence, Lease: lease}, runner("holder", t.Fence), ledger.Extra{})
	b.rejected("a renewal", err, lifecycle.CancelPending)
}
