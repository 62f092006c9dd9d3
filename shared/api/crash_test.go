package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// next is a client of the next process, on the same ledger.
func (w *world) next(c client) client {
	w.t.Helper()
	config := w.config
	config.Authority, config.Blobs = w.authority, w.blobs
	h, err := api.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(h)
	w.t.Cleanup(server.Close)
	c.base = server.URL
	return c
}

// Wherever a process dies while it takes a receipt or an event, before a call of its
// ports or after it, and whatever its caller was told: the same request to the next
// process is accepted, and was taken once in the end.
func TestDeathAtEveryCall(t *testing.T) {
	var a *approver
	for name, operation := range map[string]struct {
		prepare func(w *world, b *bench) func(client) answer
		entries int // that the operation adds
	}{
		"a receipt out of band": {func(w *world, b *bench) func(client) answer {
			b.wait()
			text := a.give(b.task, 1, "j-1")
			return func(c client) answer { return c.authorize(b.task, text) }
		}, 1},
		"a receipt in band": {func(w *world, b *bench) func(client) answer {
			b.wait()
			message := immediately(authorizing(b.task, "m-2", a.give(b.task, 1, "j-1")))
			return func(c client) answer { return c.call("SendMessage", message) }
		}, 2},
		"a claim": {func(_ *world, b *bench) func(client) answer {
			return b.posting(b.event("claim", 0, 0, object{"kind": "claim"}))
		}, 1},
		"chunks": {func(_ *world, b *bench) func(client) answer {
			b.claim()
			return b.posting(b.event("1", 1, 1, chunks(at(1, 1, "a", false), at(1, 2, "b", true))))
		}, 2},
		"chunks that stand there": {func(_ *world, b *bench) func(client) answer {
			b.claim()
			b.took(b.event("1", 1, 1, chunks(at(1, 1, "a", false))))
			return b.posting(b.event("again", 2, 1, chunks(at(1, 1, "a", false))))
		}, 0},
		"the end": {func(_ *world, b *bench) func(client) answer {
			b.claim()
			return b.posting(b.event("1", 1, 1, object{"kind": "complete"}))
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for point := 1; ; point++ {
				for _, after := range []bool{false, true} {
					crash := &ledgertest.Crash{After: after}
					w := newWorld(t, outside, approving(&a), func(w *world) {
						process := &ledgertest.Faults{Crash: crash}
						authority := *w.authority
						authority.Ledger = process.Ledger(w.ledger)
						w.config.Authority, w.config.Blobs = &authority, process.Blobs(w.blobs)
					})
					b := &bench{world: w, client: w.client(t, false), t: t}
					b.task = b.submit("Translate, please.")
					do := operation.prepare(w, b)
					before := w.head(b.task).Seq
					crash.At = crash.Calls() + point
					first := do(b.client)
					if !crash.Crashed() {
						if point == 1 || first.err != nil {
							t.Errorf("not once has it died: %.300s", first.raw)
						}
						return
					}
					again := do(w.next(b.client))
					if again.err != nil || again.status != http.StatusOK {
						t.Fatalf("call %d, after %t: first %.200s, again %d %.300s", point, after, first.raw, again.status, again.raw)
					}
					if got := w.head(b.task).Seq - before; got != uint64(operation.entries) {
						t.Errorf("call %d, after %t: %d entries, want %d", point, after, got, operation.entries)
					}
					if c := b.counts(); c.Rejections+c.Incidents+c.Quarantined != 0 {
						t.Errorf("call %d, after %t: %+v", point, after, c)
					}
				}
			}
		})
	}
}

// wait lets the bench's task ask for an authorization.
func (b *bench) wait() {
	b.t.Helper()
	fence := b.claim()
	b.took(b.event("ask", 1, fence, object{"kind": "pause", "text": "May I?", "pause": object{"for": "authorization", "action": "delete"}}))
}

// posting is an event on its way.
func (b *bench) posting(e object) func(client) answer {
	return func(c client) answer {
		other := *b
		other.client = c
		return other.post(e)
	}
}

// A count of a producer, or a fence, that is as large as numbers go is a gap or a lost
// fence like any other, and what is larger is not read.
func TestEventsLargeNumbers(t *testing.T) {
	b := newBench(t)
	b.claim()
	status := object{"kind": "status", "text": "x"}
	change := func(id, field string, number string) answer {
		body := b.event(id, 1, 1, status)
		body[field] = rawNumber(number)
		return b.post(body)
	}
	for _, c := range []struct {
		field, number string
		want          string
	}{
		{"sourceSequence", "2147483647", "SEQUENCE_GAP"}, {"sourceSequence", "2147483648", "INVALID_PARAMS"}, {"sourceSequence", "18446744073709551617", "INVALID_PARAMS"},
		{"sourceSequence", "1e400", "INVALID_PARAMS"}, {"sourceSequence", "-9223372036854775808", "INVALID_PARAMS"},
		{"fence", "2147483647", "FENCE_LOST"}, {"fence", "2147483648", "INVALID_PARAMS"}, {"fence", "1.0", ""},
	} {
		a := change(c.field+c.number, c.field, c.number)
		if got := reasonOf(a); got != c.want {
			t.Errorf("%s %s: %q, want %q: %.300s", c.field, c.number, got, c.want, a.raw)
		}
	}
	b.took(b.event("next", 2, 1, status)) // 1.0 is 1
	if c := b.counts(); c != (ledger.Counts{Rejections: 1}) {
		t.Errorf("the counts are %+v", c)
	}
	kept, err := b.ledger.Rejections(t.Context(), b.ref(b.task))
	if err != nil || kept[0].Reason != lifecycle.FenceLost || kept[0].Fence != 2147483647 {
		t.Errorf("%+v, %v", kept, err)
	}
}

// rawNumber is a number as it is written.
type rawNumber string

// MarshalJSON implements json.Marshaler.
func (n rawNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }
