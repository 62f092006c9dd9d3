package ledgertest

import (
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var guardTests = []test{
	{"each field of the guard refuses alone (I3)", guardFields},
	{"an unmarked head refuses who saw a mark", guardMarkGone},
	{"only the guarded fields are guarded", guardOnly},
	{"the conflict names the operation of the next entry", guardNextOp},
	{"one's own success is found by its operation", guardOwnOp},
	{"a refused commit leaves nothing behind", guardNothingLeft},
}

// guardFields lets the caller have seen another value of each guarded field.
func guardFields(b *bench) {
	t := b.granted(b.working("holder"), "holder")
	t = b.reported(t, progress())
	for name, change := range map[string]func(*lifecycle.Head){
		"an earlier sequence":  func(h *lifecycle.Head) { h.Seq-- },
		"a later sequence":     func(h *lifecycle.Head) { h.Seq++ },
		"an earlier fence":     func(h *lifecycle.Head) { h.Fence--; h.EntryFence-- },
		"a later fence":        func(h *lifecycle.Head) { h.Fence++ },
		"an older generation":  func(h *lifecycle.Head) { h.Generation-- },
		"a younger generation": func(h *lifecycle.Head) { h.Generation++ },
		"another holder":       func(h *lifecycle.Head) { h.Holder = "another" },
		"a cancel mark":        func(h *lifecycle.Head) { h.Cancel = &lifecycle.CancelMark{At: h.AcceptedAt} },
	} {
		seen := t
		change(&seen.Head)
		full := b.drafted(seen, "op-x", noted("x"))
		full.Receipts = []ledger.Receipt{{Producer: "client", EventID: "op-x", Seq: full.Head.Seq}}
		full.Answered = 1
		for _, c := range []ledger.Commit{full, {Seen: seen.Head, Head: seen.Head}} {
			what := fmt.Sprintf("a commit of %d entries that saw %s", len(c.Entries), name)
			b.untouched(t.Ref(), what, func() { b.conflict(what, b.ledger.Commit(b.ctx, c), t.Ref()) })
		}
		_, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-x")
		b.want("the refused commit's receipt", err, ledger.ErrNotFound)
	}
	b.ok(b.ledger.Commit(b.ctx, b.loaded(t, "op-y")))
}

// guardMarkGone: the mark's presence is guarded in both directions.
func guardMarkGone(b *bench) {
	t := b.working("holder")
	unmarked := b.drafted(t, "op-1", noted("unaware"))
	renewal := ledger.Commit{Seen: t.Head, Head: t.Head}
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	for _, c := range []ledger.Commit{unmarked, renewal} {
		b.untouched(t.Ref(), "a commit that saw no mark", func() {
			conflict := b.conflict("a commit that saw no mark", b.ledger.Commit(b.ctx, c), t.Ref())
			if conflict.Current.Cancel == nil {
				b.Fatal("the conflict does not show the mark")
			}
		})
	}
}

// guardOnly: a caller's picture may be old where it is not guarded, for instance
// in what renewals change.
func guardOnly(b *bench) {
	t := b.working("holder")
	c := b.drafted(t, "op-1", noted("fine"))
	c.Seen.LeaseUntil = c.Seen.LeaseUntil.Add(-lease)
	c.Seen.Op, c.Seen.Step, c.Seen.Attempt = "another", "another", 7
	b.ok(b.ledger.Commit(b.ctx, c))
	b.task(t.Ref())
}

func guardNextOp(b *bench) {
	t := b.working("holder")
	late := b.drafted(t, "op-late", noted("late"))
	for i := range 3 {
		b.ok(b.ledger.Commit(b.ctx, b.drafted(b.task(t.Ref()), fmt.Sprintf("op-%d", i), noted("a"), noted("b"))))
	}
	c := b.conflict("a late commit", b.ledger.Commit(b.ctx, late), t.Ref())
	b.is("NextOp: the operation after what was seen", c.NextOp, "op-0")
	b.is("the operation of the head", c.Current.Op, "op-2")

	// Nobody wrote the next entry: another fence alone is no operation.
	now := b.task(t.Ref())
	another := b.drafted(now, "op-other", noted("other"))
	b.granted(now, "holder")
	c = b.conflict("a commit under an older fence", b.ledger.Commit(b.ctx, another), t.Ref())
	b.is("NextOp: nobody's", c.NextOp, "")
}

func guardOwnOp(b *bench) {
	t := b.working("holder")
	c := b.loaded(t, "op-1")
	b.ok(b.ledger.Commit(b.ctx, c))
	b.untouched(t.Ref(), "the same commit again", func() {
		conflict := b.conflict("the same commit again", b.ledger.Commit(b.ctx, c), t.Ref())
		b.is("NextOp: one's own", conflict.NextOp, "op-1")
	})
	b.ok(b.ledger.Commit(b.ctx, b.drafted(b.task(t.Ref()), "op-2", noted("somebody else"))))
	conflict := b.conflict("again, after somebody else", b.ledger.Commit(b.ctx, c), t.Ref())
	b.is("NextOp: one's own", conflict.NextOp, "op-1")

	// An operation without entries is found on the head.
	t = b.granted(b.task(t.Ref()), "holder")
	seen := t.Head
	seen.Fence--
	conflict = b.conflict("a grant again", b.ledger.Commit(b.ctx, ledger.Commit{Seen: seen, Head: t.Head}), t.Ref())
	b.is("the head's operation: one's own", conflict.Current.Op, t.Op)
}

func guardNothingLeft(b *bench) {
	t := b.working("holder")
	c := b.loaded(t, "op-refused")
	t = b.reported(t, progress())
	b.conflict("a late commit", b.ledger.Commit(b.ctx, c), t.Ref())
	_, err := b.ledger.Receipt(b.ctx, t.Ref(), "client", "op-refused")
	b.want("the refused commit's receipt", err, ledger.ErrNotFound)
	// Had a chunk's receipt stayed behind, the same coordinate would not be new.
	b.ok(b.ledger.Commit(b.ctx, b.loaded(t, "op-again")))
	b.task(t.Ref())
}
