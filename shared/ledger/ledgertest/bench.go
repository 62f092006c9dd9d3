package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// bench is a desk in a test: what it does must succeed.
type bench struct {
	*testing.T
	*desk
	ctx context.Context //nolint:containedctx // the test's own
}

func newBench(t *testing.T, l ledger.Ledger) *bench {
	t.Helper()
	return &bench{T: t, desk: newDesk(l), ctx: t.Context()}
}

// ok stops the test at an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// is stops the test unless two values are stored alike.
func (b *bench) is(what string, got, want any) {
	b.Helper()
	b.ok(same(what, got, want))
}

// want stops the test unless err wraps the target.
func (b *bench) want(what string, err, target error) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Fatalf("%s: error %v, want %v", what, err, target)
	}
}

// rejected stops the test unless err is a rejection for the reason.
func (b *bench) rejected(what string, err error, reason lifecycle.Reason) {
	b.Helper()
	if !lifecycle.RejectedFor(err, reason) {
		b.Fatalf("%s: error %v, want a rejection for %s", what, err, reason)
	}
}

// conflict stops the test unless err is a conflict that carries the ledger's
// present head.
func (b *bench) conflict(what string, err error, ref lifecycle.Ref) *ledger.Conflict {
	b.Helper()
	c, is := errors.AsType[*ledger.Conflict](err)
	if !is {
		b.Fatalf("%s: error %v, want a conflict", what, err)
	}
	b.is(what+": the conflict's current head", c.Current, b.head(ref))
	return c
}

func (b *bench) head(ref lifecycle.Ref) lifecycle.Head {
	b.Helper()
	h, err := b.ledger.Head(b.ctx, ref)
	b.ok(err)
	return h
}

// task loads and verifies a task.
func (b *bench) task(ref lifecycle.Ref) lifecycle.Task {
	b.Helper()
	t, _, err := b.verify(b.ctx, ref)
	b.ok(err)
	return t
}

func (b *bench) entries(ref lifecycle.Ref) []lifecycle.Entry {
	b.Helper()
	entries, err := b.ledger.Entries(b.ctx, ref, 0, 0)
	b.ok(err)
	return entries
}

func (b *bench) submitted() lifecycle.Task {
	b.Helper()
	t, err := b.submit(b.ctx)
	b.ok(err)
	return t
}

func (b *bench) working(holder string) lifecycle.Task {
	b.Helper()
	t, err := b.started(b.ctx, holder)
	b.ok(err)
	return t
}

func (b *bench) granted(t lifecycle.Task, holder string) lifecycle.Task {
	b.Helper()
	t, err := b.grant(b.ctx, t, holder)
	b.ok(err)
	return t
}

func (b *bench) reported(t lifecycle.Task, r lifecycle.Report) lifecycle.Task {
	b.Helper()
	t, err := b.report(b.ctx, t, r)
	b.ok(err)
	return t
}

// drafted is a draft that must be sound.
func (b *bench) drafted(t lifecycle.Task, op string, events ...lifecycle.Event) ledger.Commit {
	b.Helper()
	c, err := b.draft(t, op, events...)
	b.ok(err)
	return c
}

// untouched runs something that must change nothing of a task.
func (b *bench) untouched(ref lifecycle.Ref, what string, do func()) {
	b.Helper()
	before, err := json.Marshal(b.footprint(ref)) // not the values: they might be the ledger's own
	b.ok(err)
	do()
	b.is(what+": what the ledger keeps of the task", b.footprint(ref), json.RawMessage(before))
}

// footprint is everything that can be read of a task.
type footprint struct {
	Head       lifecycle.Head
	Entries    []lifecycle.Entry
	Artifacts  []lifecycle.Artifact
	Effects    []lifecycle.Effect
	Rejections []ledger.Rejected
	Counts     ledger.Counts
	Quarantine []ledger.Quarantined
	Producer   ledger.ProducerMark
	Parked     ledger.Parked
	Endpoints  []ledger.Endpoint
}

func (b *bench) footprint(ref lifecycle.Ref) footprint {
	b.Helper()
	var f footprint
	var errs [8]error
	f.Head, f.Entries = b.head(ref), b.entries(ref)
	f.Artifacts, errs[0] = b.ledger.Artifacts(b.ctx, ref)
	f.Effects, errs[1] = b.ledger.EffectList(b.ctx, ref)
	f.Rejections, errs[2] = b.ledger.Rejections(b.ctx, ref)
	f.Counts, errs[3] = b.ledger.Counts(b.ctx, ref)
	f.Parked, errs[4] = b.ledger.Parked(b.ctx, ref, 1)
	f.Endpoints, errs[5] = b.ledger.EndpointList(b.ctx, ref)
	f.Quarantine, errs[6] = b.ledger.Quarantine(b.ctx, ref)
	f.Producer, errs[7] = b.ledger.Producer(b.ctx, ref, worker)
	b.ok(errors.Join(errs[:]...))
	return f
}
