package ledgertest

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var createTests = []test{
	{"a task is read back as it was created (I1)", createReadsBack},
	{"a key gives the first task and nothing of the second is written (I5, case 1)", createKeyTaken},
	{"the same creation again finds its own key (I5, case 1)", createRepeated},
	{"a task ID exists once and the key is not claimed", createTaskExists},
	{"without a key no key is claimed", createWithoutKey},
	{"an unknown task is not found", createUnknown},
}

// creation is a creation of one's own making.
func (b *bench) creation(ref lifecycle.Ref, key *ledger.Key, op string) ledger.Creation {
	b.Helper()
	empty := lifecycle.Task{Head: lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}}
	decision, err := lifecycle.Decide(empty, submission(), b.clock.Now())
	b.ok(err)
	next, entries, err := lifecycle.Seal(empty, decision, client(), op, b.clock.Now())
	b.ok(err)
	if key != nil {
		next.Key = key.Hash
	}
	note := ledger.KeyNote{Task: ref.Task, RequestDigest: submission().RequestDigest, Op: op}
	return ledger.Creation{Head: next.Head, Entries: entries, Key: key, Note: note}
}

func createReadsBack(b *bench) {
	c := b.creation(b.newRef(), b.newKey("k"), "op-1")
	b.ok(b.ledger.Create(b.ctx, c))
	ref := c.Head.Ref()
	b.is("the head", b.head(ref), c.Head)
	b.is("the entries", b.entries(ref), c.Entries)
	note, err := b.ledger.Key(b.ctx, *c.Key)
	b.ok(err)
	b.is("the key's note", note, c.Note)
	b.task(ref)
}

// wantTaken stops the test unless err says to whom the key belongs.
func (b *bench) wantTaken(err error, want ledger.KeyNote) {
	b.Helper()
	taken, is := errors.AsType[*ledger.KeyTaken](err)
	if !is {
		b.Fatalf("error %v, want KeyTaken", err)
	}
	b.is("the note of the taken key", taken.Note, want)
}

func createKeyTaken(b *bench) {
	key := b.newKey("k")
	first, second := b.creation(b.newRef(), key, "op-1"), b.creation(b.newRef(), key, "op-2")
	b.ok(b.ledger.Create(b.ctx, first))
	b.untouched(first.Head.Ref(), "a second task under the key", func() {
		b.wantTaken(b.ledger.Create(b.ctx, second), first.Note)
	})
	_, err := b.ledger.Head(b.ctx, second.Head.Ref())
	b.want("the second task's head", err, ledger.ErrNotFound)
	if entries := b.entries(second.Head.Ref()); len(entries) > 0 {
		b.Fatalf("the second task has %d entries", len(entries))
	}
	note, err := b.ledger.Key(b.ctx, *key)
	b.ok(err)
	b.is("the key's note", note, first.Note)
}

func createRepeated(b *bench) {
	c := b.creation(b.newRef(), b.newKey("k"), "op-1")
	b.ok(b.ledger.Create(b.ctx, c))
	b.untouched(c.Head.Ref(), "the same creation", func() { b.wantTaken(b.ledger.Create(b.ctx, c), c.Note) })

	// The task has moved on, and the creation is still recognised.
	task := b.granted(b.task(c.Head.Ref()), "holder")
	b.reported(task, progress())
	b.wantTaken(b.ledger.Create(b.ctx, c), c.Note)
}

func createTaskExists(b *bench) {
	ref := b.newRef()
	first := b.creation(ref, nil, "op-1")
	b.ok(b.ledger.Create(b.ctx, first))
	task := b.granted(b.task(ref), "holder")
	b.reported(task, progress())
	b.untouched(ref, "another creation", func() {
		second := b.creation(ref, b.newKey("fresh"), "op-2")
		c := b.conflict("another creation", b.ledger.Create(b.ctx, second), ref)
		b.is("NextOp: the operation that wrote entry 1", c.NextOp, "op-1")
	})
	_, err := b.ledger.Key(b.ctx, *b.newKey("fresh"))
	b.want("the fresh key", err, ledger.ErrNotFound)
}

func createWithoutKey(b *bench) {
	for range 2 {
		b.ok(b.ledger.Create(b.ctx, b.creation(b.newRef(), nil, a2a.NewMessageID())))
	}
	_, err := b.ledger.Key(b.ctx, ledger.Key{Tenant: b.tenant})
	b.want("the empty key", err, ledger.ErrNotFound)
}

func createUnknown(b *bench) {
	ref := b.newRef()
	_, err := b.ledger.Head(b.ctx, ref)
	b.want("Head", err, ledger.ErrNotFound)
	if entries := b.entries(ref); len(entries) > 0 {
		b.Fatalf("%d entries of an unknown task", len(entries))
	}
	artifacts, err := b.ledger.Artifacts(b.ctx, ref)
	b.ok(err)
	rejections, err := b.ledger.Rejections(b.ctx, ref)
	b.ok(err)
	effects, err := b.ledger.EffectList(b.ctx, ref)
	b.ok(err)
	if n := len(artifacts) + len(rejections) + len(effects); n > 0 {
		b.Fatalf("%d artifacts, rejections and effects of an unknown task", n)
	}
	b.is("the item of a pause", b.parked(ref, 1), ledger.Parked{})
	_, err = b.ledger.Counts(b.ctx, ref)
	b.want("Counts", err, ledger.ErrNotFound)
	_, err = b.ledger.Key(b.ctx, *b.newKey("never used"))
	b.want("Key", err, ledger.ErrNotFound)
	_, err = b.ledger.Receipt(b.ctx, ref, "client", "event")
	b.want("Receipt", err, ledger.ErrNotFound)
	_, err = b.ledger.Effect(b.ctx, ref, 1, "effect")
	b.want("Effect", err, ledger.ErrNotFound)
	b.want("MarkCancel", b.ledger.MarkCancel(b.ctx, ref, lifecycle.CancelMark{}, 0, "op"), ledger.ErrNotFound)
	b.want("Reject", b.ledger.Reject(b.ctx, ref, ledger.Rejected{Reason: lifecycle.PostTerminal}), ledger.ErrNotFound)
	b.want("Hit", b.ledger.Hit(b.ctx, ref, "client", "event"), ledger.ErrNotFound)
	b.want("Intend", b.ledger.Intend(b.ctx, ref, lifecycle.Effect{Name: "effect", Visit: 1, Revision: 1}), ledger.ErrNotFound)
}
