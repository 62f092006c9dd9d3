package ledgertest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var quarantineTests = []test{
	{"output after a cancellation is quarantined, once, and never shown (I2)", quarantined},
	{"output after another end is refused and not kept (I2)", notQuarantined},
	{"the quarantine is capped, its count is not", quarantineCap},
	{"of a large output the digest is kept", quarantineLarge},
	{"a payload is kept as it came", quarantineBytes},
}

// canceledTask is a task that its worker has canceled when it was asked to.
func (b *bench) canceledTask() lifecycle.Task {
	b.Helper()
	t := b.held()
	_, err := b.cancel(b.ctx, t)
	b.ok(err)
	_, err = b.take(b.ctx, t.Ref(), told(1), tell(1, "one"))
	b.rejected("a report when a cancellation waits", err, lifecycle.CancelPending)
	end := b.taken(t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbCancel}, tell(1, "canceled"))
	b.is("the state", end.Task.State, lifecycle.Canceled)
	return end.Task
}

func (b *bench) late(ref lifecycle.Ref) []ledger.Quarantined {
	b.Helper()
	all, err := b.ledger.Quarantine(b.ctx, ref)
	b.ok(err)
	return all
}

func quarantined(b *bench) {
	t := b.canceledTask()
	before := b.view(t.Ref())
	for range 3 {
		_, err := b.take(b.ctx, t.Ref(), told(1), sent{worker, "late", 2, "what was late"})
		b.rejected("late output", err, lifecycle.PostTerminal)
	}
	_, err := b.take(b.ctx, t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbComplete}, sent{worker, "late end", 3, "the end"})
	b.rejected("a late end", err, lifecycle.PostTerminal)
	_, err = b.take(b.ctx, t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbCancel}, tell(4, "canceled again"))
	b.rejected("what is no output", err, lifecycle.PostTerminal)
	at := lifecycle.Millis(b.clock.Now())
	b.is("the quarantine, oldest first", b.late(t.Ref()), []ledger.Quarantined{
		{At: at, Producer: worker, EventID: "late", Digest: lifecycle.DigestBytes([]byte(`"what was late"`)), Bytes: 15, Payload: []byte(`"what was late"`)},
		{At: at, Producer: worker, EventID: "late end", Digest: lifecycle.DigestBytes([]byte(`"the end"`)), Bytes: 9, Payload: []byte(`"the end"`)},
	})
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: 3, Hits: 2, Quarantined: 2})
	b.is("the head", b.head(t.Ref()), t.Head)
	b.is("what a caller sees", b.view(t.Ref()), before)
	b.is("the quarantine of no task", len(b.late(b.newRef())), 0)
}

// view is the task as its caller sees it.
func (b *bench) view(ref lifecycle.Ref) *a2a.Task {
	b.Helper()
	v := lifecycle.NewView(ref, func(d lifecycle.Digest) string { return string(d) })
	for _, e := range b.entries(ref) {
		_, err := v.Add(e)
		b.ok(err)
	}
	return v.Task()
}

func notQuarantined(b *bench) {
	t := b.held()
	b.taken(t.Ref(), lifecycle.Report{Holder: worker, Fence: 1, Verb: lifecycle.VerbComplete}, tell(1, "done"))
	_, err := b.take(b.ctx, t.Ref(), told(1), tell(2, "late"))
	b.rejected("output after completion", err, lifecycle.PostTerminal)
	b.is("the quarantine", len(b.late(t.Ref())), 0)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: 1})
}

func quarantineCap(b *bench) {
	t := b.canceledTask()
	const before, more = 5, 3
	for i := range before { // the two caps are apart
		b.ok(b.ledger.Refuse(b.ctx, t.Ref(), b.refusal(i, lifecycle.FenceLost)))
	}
	for i := range lifecycle.MaxQuarantined + more {
		_, err := b.take(b.ctx, t.Ref(), told(1), tell(2, "late-"+strconv.Itoa(i)))
		b.rejected("late output", err, lifecycle.PostTerminal)
	}
	kept := b.late(t.Ref())
	b.is("how many are kept", len(kept), lifecycle.MaxQuarantined)
	for i, q := range kept {
		b.is("the oldest stay, in order", q.EventID, "late-"+strconv.Itoa(i))
	}
	n := lifecycle.MaxQuarantined + more
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Rejections: before + n, Quarantined: n})
	// The last one is kept here and not among the rejections: it is remembered too.
	for hits, i := range []int{0, lifecycle.MaxQuarantined - 1} {
		_, err := b.take(b.ctx, t.Ref(), told(1), tell(2, "late-"+strconv.Itoa(i)))
		b.rejected("one that is kept, again", err, lifecycle.PostTerminal)
		b.is("the counts after it", b.counts(t.Ref()), ledger.Counts{Rejections: before + n, Quarantined: n, Hits: hits + 1})
	}
}

func quarantineLarge(b *bench) {
	t := b.canceledTask()
	large := strings.Repeat("x", lifecycle.MaxQuarantinedBytes-1) // its JSON is one byte above
	_, err := b.take(b.ctx, t.Ref(), told(1), sent{worker, "large", 2, large})
	b.rejected("late output", err, lifecycle.PostTerminal)
	_, err = b.take(b.ctx, t.Ref(), told(1), sent{worker, "largest", 2, large[1:]})
	b.rejected("late output", err, lifecycle.PostTerminal)
	kept := b.late(t.Ref())
	b.is("their payloads", []int{len(kept[0].Payload), len(kept[1].Payload)}, []int{0, lifecycle.MaxQuarantinedBytes})
	b.is("the large one's size and digest", []any{kept[0].Bytes, kept[0].Digest}, []any{lifecycle.MaxQuarantinedBytes + 1, lifecycle.DigestBytes([]byte(`"` + large + `"`))})
}

// quarantineBytes: encoding/json would escape HTML's characters.
func quarantineBytes(b *bench) {
	t := b.canceledTask()
	payload := json.RawMessage(`{"text":"<b>&\u2028é"}`)
	r := b.refusal(1, lifecycle.PostTerminal)
	r.Late = &ledger.Quarantined{Producer: worker, EventID: "m-1", Digest: lifecycle.DigestBytes(payload), Bytes: len(payload), Payload: payload}
	b.ok(b.ledger.Refuse(b.ctx, t.Ref(), r))
	if got := b.late(t.Ref())[0].Payload; string(got) != string(payload) {
		b.Fatalf("the payload is %s, want %s", got, payload)
	}
}
