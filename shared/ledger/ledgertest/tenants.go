package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var tenantTests = []test{
	{"reading another tenant's task answers as for an unknown one (I10)", tenantReads},
	{"writing to another tenant's task changes nothing (I10)", tenantWrites},
	{"lists and counts are a tenant's own (I10)", tenantLists},
	{"two tenants' tasks of one ID live apart (I10)", tenantSameID},
}

// rich creates a task that has one of everything.
func (b *bench) rich() lifecycle.Task {
	b.Helper()
	key := b.newKey("key")
	res, err := b.auth.Create(b.ctx, b.newRef(), submission(), client(), key)
	b.ok(err)
	t := b.granted(res.Task, "holder")
	b.ok(b.ledger.Intend(b.ctx, t.Ref(), b.intent(t, 1, "effect")))
	c := b.loaded(t, "event")
	c.Producer = &ledger.ProducerMark{Producer: worker, Seq: 1, EventID: "one"}
	b.ok(b.ledger.Commit(b.ctx, c))
	late := b.refusal(0, lifecycle.PostTerminal)
	late.Late = &ledger.Quarantined{Producer: worker, EventID: "m-0", Payload: []byte(`"late"`)}
	b.ok(b.ledger.Refuse(b.ctx, t.Ref(), late))
	b.ok(b.ledger.Reject(b.ctx, t.Ref(), b.refused(1, lifecycle.FenceLost)))
	b.ok(b.ledger.Act(b.ctx, t.Ref(), b.act(0, ledger.ActionExport)))
	_, err = b.ledger.Park(b.ctx, t.Ref(), 1, ledger.Token{Value: "token", Generation: 1})
	b.ok(err)
	b.put(t.Ref(), b.endpoint("endpoint"))
	return b.task(t.Ref())
}

// answers asks everything that can be read of a task. What is not found is told
// from what is empty; texts of errors are not compared.
func (b *bench) answers(ref lifecycle.Ref) map[string]string {
	b.Helper()
	out := map[string]string{}
	note := func(method string, v any, err error) {
		b.Helper()
		if err != nil && !isNotFound(err) {
			b.Fatalf("%s of %q: %v", method, ref, err)
		}
		out[method] = fmt.Sprint(v, err != nil)
	}
	l := b.ledger
	h, err := l.Head(b.ctx, ref)
	note("Head", h.Seq, err)
	entries, err := l.Entries(b.ctx, ref, 0, 0)
	note("Entries", len(entries), err)
	arts, err := l.Artifacts(b.ctx, ref)
	note("Artifacts", len(arts), err)
	_, err = l.Key(b.ctx, ledger.Key{Tenant: ref.Tenant, Hash: b.newKey("key").Hash})
	note("Key", "", err)
	_, err = l.Receipt(b.ctx, ref, "client", "event")
	note("Receipt", "", err)
	mark, err := l.Producer(b.ctx, ref, worker)
	note("Producer", mark.Seq, err)
	late, err := l.Quarantine(b.ctx, ref)
	note("Quarantine", len(late), err)
	rejections, err := l.Rejections(b.ctx, ref)
	note("Rejections", len(rejections), err)
	acts, err := l.Acts(b.ctx, ref)
	note("Acts", len(acts), err)
	counts, err := l.Counts(b.ctx, ref)
	note("Counts", counts, err)
	_, err = l.Effect(b.ctx, ref, 1, "effect")
	note("Effect", "", err)
	effects, err := l.EffectList(b.ctx, ref)
	note("EffectList", len(effects), err)
	parked, err := l.Parked(b.ctx, ref, 1)
	note("Parked", parked, err)
	_, err = l.Endpoint(b.ctx, ref, "endpoint")
	note("Endpoint", "", err)
	endpoints, err := l.EndpointList(b.ctx, ref)
	note("EndpointList", len(endpoints), err)
	ended, end := context.WithCancel(b.ctx)
	end()
	if err := l.Watch(ended, ref, 1000); !errors.Is(err, context.Canceled) {
		b.Fatalf("Watch of %q: %v", ref, err)
	}
	return out
}

func tenantReads(b *bench) {
	t := b.rich()
	foreign := lifecycle.Ref{Tenant: "tenant-" + a2a.NewContextID(), Task: t.Task}
	unknown := lifecycle.Ref{Tenant: foreign.Tenant, Task: a2a.NewTaskID()}
	got, want := b.answers(foreign), b.answers(unknown)
	b.is("what another tenant is told", got, want)
	b.is("Head", want["Head"], "0 true")
	for method, answer := range b.answers(t.Ref()) {
		if answer == got[method] {
			b.Errorf("%s tells the owner no more than a stranger: %s", method, answer)
		}
	}
}

func tenantWrites(b *bench) {
	t := b.rich()
	foreign := lifecycle.Ref{Tenant: "tenant-" + a2a.NewContextID(), Task: t.Task}
	c := b.drafted(t, "op-foreign", noted("foreign"))
	c.Seen.Tenant, c.Head.Tenant = foreign.Tenant, foreign.Tenant
	effect := b.effect(t.Ref(), 1, "effect")
	effect.Revision++
	l := b.ledger
	b.untouched(t.Ref(), "a stranger's writes", func() {
		for method, err := range map[string]error{
			"Commit":      l.Commit(b.ctx, c),
			"MarkCancel":  l.MarkCancel(b.ctx, foreign, lifecycle.CancelMark{}, t.Fence, "op-foreign"),
			"Hit":         l.Hit(b.ctx, foreign, "client", "event"),
			"Reject":      l.Reject(b.ctx, foreign, b.refused(2, lifecycle.FenceLost)),
			"Refuse":      l.Refuse(b.ctx, foreign, b.refusal(3, lifecycle.FenceLost)),
			"Act":         l.Act(b.ctx, foreign, b.act(1, ledger.ActionCancel)),
			"Intend":      l.Intend(b.ctx, foreign, effect),
			"PutEndpoint": l.PutEndpoint(b.ctx, foreign, b.endpoint("endpoint")),
			"Want":        l.Want(b.ctx, foreign, "endpoint", 9, b.clock.Now()),
			"Deliver":     l.Deliver(b.ctx, foreign, "endpoint", ledger.Delivery{Cursor: 9, Revision: 1}),
		} {
			b.want(method, err, ledger.ErrNotFound)
		}
		if err := l.Settle(b.ctx, foreign, effect); !isNotFound(err) && !errors.Is(err, ledger.ErrEffectChanged) {
			b.Fatalf("Settle: error %v, want it refused", err)
		}
		b.ok(l.DeleteEndpoint(b.ctx, foreign, "endpoint"))
		// Parking for a task that does not exist may be refused or harmless.
		_, err := l.Park(b.ctx, foreign, 1, ledger.Token{Value: "foreign", Generation: 9})
		if err != nil && !isNotFound(err) {
			b.Fatal(err)
		}
	})
	_, err := l.Head(b.ctx, foreign)
	b.want("the stranger's head", err, ledger.ErrNotFound)
}

func tenantLists(b *bench) {
	own := b.submitted()
	other := &bench{T: b.T, desk: newDesk(b.ledger), ctx: b.ctx}
	theirs := other.submitted()
	b.wantList("own tasks", b.query(), []lifecycle.Head{own.Head})
	other.wantList("their tasks", other.query(), []lifecycle.Head{theirs.Head})
	q := b.query()
	q.After = &ledger.ListCursor{StatusAt: theirs.StatusAt.Add(1), Task: theirs.Task} // a cursor is no key to others' tasks
	b.wantList("own tasks after their cursor", q, []lifecycle.Head{own.Head})
}

func tenantSameID(b *bench) {
	t := b.rich()
	twin := lifecycle.Ref{Tenant: t.Tenant + "-twin", Task: t.Task}
	key := &ledger.Key{Tenant: twin.Tenant, Hash: b.newKey("key").Hash}
	b.untouched(t.Ref(), "a twin's life", func() {
		res, err := b.auth.Create(b.ctx, twin, submission(), client(), key)
		b.ok(err)
		b.reported(b.granted(res.Task, "holder"), ending(lifecycle.VerbComplete))
	})
	b.untouched(twin, "going on beside a twin", func() { b.reported(t, progress()) })
	note, err := b.ledger.Key(b.ctx, *key)
	b.ok(err)
	b.is("the twin's key", note.Task, twin.Task)
}
