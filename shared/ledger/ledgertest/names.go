package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var nameTests = []test{
	{"tenants and tasks with look-alike names stay apart (I10)", nameRefs},
	{"submission keys with look-alike names stay apart (I5)", nameKeys},
	{"receipts with look-alike names stay apart (I5)", nameReceipts},
	{"producers with look-alike names stay apart", nameProducers},
	{"effects with look-alike names stay apart (I7)", nameEffects},
	{"artifacts with look-alike names stay apart (I6)", nameArtifacts},
	{"endpoints with look-alike names stay apart", nameEndpoints},
}

func isNotFound(err error) bool { return errors.Is(err, ledger.ErrNotFound) }

// lookalikes are refs that a careless encoding would take for ref.
func lookalikes(ref lifecycle.Ref) []lifecycle.Ref {
	tenant, task := ref.Tenant, string(ref.Task)
	half := len(task) / 2
	pairs := [][2]string{
		{"", tenant + task}, {tenant + task, ""}, {"", tenant + "/" + task}, {tenant + "/" + task, ""},
		{tenant + "/", task}, {tenant, "/" + task}, {tenant + "/..", task}, {tenant, task + "/"},
		{tenant + "#", task}, {tenant, "#" + task}, {tenant + "/" + task[:half], task[half:]},
		{tenant + task[:half], task[half:]}, {strings.ToUpper(tenant), task}, {tenant, strings.ToUpper(task) + "A"},
		{tenant + " ", task}, {tenant + "%2F", task}, {tenant + "\u00a0", task}, {tenant, task + "é"}, {tenant, task + "e\u0301"},
		{tenant, task[:len(task)-1]}, {tenant, task + "0"}, {tenant, "."}, {tenant, ".."}, {".", task}, {"..", task},
	}
	out := make([]lifecycle.Ref, 0, len(pairs))
	for _, p := range pairs {
		out = append(out, lifecycle.Ref{Tenant: p[0], Task: a2a.TaskID(p[1])})
	}
	return out
}

// oddNames collide under one careless encoding or another: joined, cut at a
// separator, folded, trimmed, padded, ordered as numbers.
func oddNames() []string {
	return []string{
		"", "/", "//", "#", "##", "a", "A", "a/", "/a", "a#", "#a", "a/b", "a#b", "a%2Fb", "a%23b", "a\\b", "a:b", "a|b", "a b", " a", "a ", "a\tb",
		"a\nb", "é", "e\u0301", "\u2028", "日本", "🙂", "\ufeffa", "1", "01", "1.0", "0000000001", ".", "..", "*", "%", "_", "'", "\"", "--", "null",
		strings.Repeat("x", lifecycle.MaxNameBytes), strings.Repeat("x", lifecycle.MaxNameBytes-1),
	}
}

// mark tells a task from its look-alikes.
func mark(ref lifecycle.Ref) string {
	return string(lifecycle.DigestBytes(fmt.Appendf(nil, "%q of %q", ref.Task, ref.Tenant)))
}

func nameRefs(b *bench) {
	refs := lookalikes(b.newRef())
	refs = slices.DeleteFunc(refs, func(ref lifecycle.Ref) bool {
		cmd := submission()
		cmd.Principal = mark(ref)
		_, err := b.auth.Create(b.ctx, ref, cmd, client(), nil)
		if err != nil && (ref.Tenant != "" && ref.Task != "" || !refusedForGood(err)) {
			b.Fatalf("creating %q: %v", ref, err)
		}
		return err != nil // a ledger may refuse what has no name
	})
	for _, ref := range refs {
		t := b.task(ref)
		b.is(fmt.Sprintf("the principal of %q", ref), t.Principal, mark(ref))
		b.is("its ref", t.Ref(), ref)
		b.reported(b.granted(t, "holder"), ending(lifecycle.VerbComplete))
	}
	for _, ref := range refs {
		b.is(fmt.Sprintf("the entries of %q", ref), len(b.entries(ref)), 3)
	}
}

func nameKeys(b *bench) {
	keys := make([]ledger.Key, 0, 100)
	for _, name := range oddNames()[1:] { // a key without a hash is none
		keys = append(keys, ledger.Key{Tenant: b.tenant, Hash: lifecycle.Digest(name)}, ledger.Key{Tenant: b.tenant + name, Hash: "hash"})
	}
	tasks := map[ledger.Key]a2a.TaskID{}
	for _, key := range keys {
		ref := lifecycle.Ref{Tenant: key.Tenant, Task: a2a.NewTaskID()}
		if _, err := b.auth.Create(b.ctx, ref, submission(), client(), &key); err != nil {
			b.Fatalf("claiming %q: %v", key, err)
		}
		tasks[key] = ref.Task
	}
	for key, task := range tasks {
		note, err := b.ledger.Key(b.ctx, key)
		b.ok(err)
		b.is(fmt.Sprintf("the task of %q", key), note.Task, task)
	}
}

func nameReceipts(b *bench) {
	t := b.working("holder")
	type name struct{ producer, event string }
	var names []name
	for _, n := range oddNames() {
		names = append(names, name{n, "event"}, name{"producer", n}, name{n, n})
	}
	names = append(names, name{"a", "b/c"}, name{"a/b", "c"}, name{"a", "b#c"}, name{"a#b", "c"}, name{"ab", "c"}, name{"a", "bc"}, name{"abc", ""}, name{"", "abc"})
	for part := range 3 {
		c := b.drafted(b.task(t.Ref()), fmt.Sprintf("op-%d", part), noted("x"))
		for i := part; i < len(names); i += 3 {
			c.Receipts = append(c.Receipts, ledger.Receipt{Producer: names[i].producer, EventID: names[i].event, Digest: lifecycle.Digest(fmt.Sprint(i)), Seq: c.Head.Seq})
		}
		b.ok(b.ledger.Commit(b.ctx, c))
	}
	for i, n := range names {
		receipt, err := b.ledger.Receipt(b.ctx, t.Ref(), n.producer, n.event)
		if err != nil {
			b.Fatalf("the receipt of %q: %v", n, err)
		}
		b.is(fmt.Sprintf("the receipt of %q", n), receipt.Digest, fmt.Sprint(i))
	}
}

func nameProducers(b *bench) {
	t := b.working("holder")
	names := oddNames()[1:] // the rules give every producer a name
	for i, name := range names {
		for seq := range i%2 + 1 {
			c := b.drafted(b.task(t.Ref()), fmt.Sprintf("op-%d-%d", i, seq), noted("x"))
			c.Producer = &ledger.ProducerMark{Producer: name, Seq: uint64(seq) + 1, EventID: name}
			b.ok(b.ledger.Commit(b.ctx, c))
		}
	}
	for i, name := range names {
		b.is(fmt.Sprintf("the mark of %q", name), b.mark(t.Ref(), name), ledger.ProducerMark{Producer: name, Seq: uint64(i%2) + 1, EventID: name})
	}
}

func nameEffects(b *bench) {
	t := b.working("holder")
	written := 0
	for _, visit := range []uint64{1, 11} {
		for _, name := range oddNames() {
			if name == "" {
				continue // the rules give every effect a name
			}
			e := b.intent(t, visit, name)
			if err := b.ledger.Intend(b.ctx, t.Ref(), e); err != nil {
				b.Fatalf("intending %q of visit %d: %v", name, visit, err)
			}
			written++
		}
	}
	all, err := b.ledger.EffectList(b.ctx, t.Ref())
	b.ok(err)
	b.is("the number of records", len(all), written)
	for _, e := range all {
		b.is(fmt.Sprintf("the record of %q", e.Name), b.effect(t.Ref(), e.Visit, e.Name), e)
		b.is("its key", e.Key, lifecycle.EffectKey(t.Task, e.Visit, e.Name))
	}
}

func nameArtifacts(b *bench) {
	t := b.working("holder")
	names := oddNames()[1:] // the rules give every artifact an ID
	for i, name := range names {
		t = b.reported(t, lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Chunk: piece(a2a.ArtifactID(name), fmt.Sprint(i), true)}}})
	}
	loaded := b.task(t.Ref())
	b.is("the number of artifacts", len(loaded.Arts), len(names))
	b.is("the artifacts", loaded.Arts, t.Arts)
}

// nameEndpoints: a task has few of them, so there are several tasks.
func nameEndpoints(b *bench) {
	for names := range slices.Chunk(oddNames()[1:], ledger.MaxEndpoints) { // the rules give every endpoint an ID
		t := b.submitted()
		for _, id := range names {
			b.put(t.Ref(), b.endpoint(id))
		}
		b.is("the number of endpoints", len(b.endpointsOf(t.Ref())), len(names))
		want := make([]ledger.DeliveryCursor, 0, len(names))
		for _, id := range names {
			b.is(fmt.Sprintf("the endpoint %q", id), b.endpointOf(t.Ref(), id), b.endpoint(id))
			want = append(want, dueFrom(t.Ref(), b.endpoint(id)))
		}
		b.wantDeliveries("all of them", want[0].DueAt, 3, want...)
		for _, id := range names {
			b.ok(b.ledger.DeleteEndpoint(b.ctx, t.Ref(), id))
		}
		b.wantEndpoints("what is left", t.Ref())
	}
}
