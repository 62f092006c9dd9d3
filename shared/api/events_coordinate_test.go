package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// at is a chunk that names its coordinate, and leaves it to that whether it appends.
func at(revision, number int, content string, last bool) object {
	p := piece("out", content, number > 1, last)
	delete(p, "append")
	p["revision"], p["number"] = revision, number
	return p
}

func chunks(all ...any) object { return object{"kind": "chunk", "chunks": all} }

// A worker that lost its fence, or its memory, brings what it has again under another
// name: it is told where that is, and nothing is written twice (I6).
func TestEventsChunkAgain(t *testing.T) {
	b := newBench(t)
	b.claim()
	first := b.took(b.event("1", 1, 1, chunks(at(1, 1, "Hei, ", false), at(1, 2, "verden", false))))
	wants(t, first, object{"sequence": 3, "hits": 0})
	b.took(b.event("release", 0, 1, object{"kind": "release"}))
	b.claim()
	wants(t, b.took(b.event("1 under the next fence", 1, 2, chunks(at(1, 1, "Hei, ", false), at(1, 2, "verden", false)))), object{"sequence": 3, "hits": 1, "fence": 2})
	other := b.event("other-1", 2, 2, chunks(at(1, 2, "verden", false)))
	wants(t, b.took(other), object{"sequence": 3, "hits": 2})
	wants(t, b.took(other), object{"sequence": 3, "hits": 1}) // its own receipt
	wants(t, b.took(b.event("3", 3, 2, chunks(at(1, 2, "verden", false), at(1, 3, "!", true)))), object{"sequence": 5, "hits": 0})
	if c := b.counts(); c != (ledger.Counts{Hits: 3}) {
		t.Errorf("the counts are %+v", c)
	}
	b.took(b.event("4", 4, 2, chunks(at(2, 1, "Hei igjen.", true))))
	wants(t, b.took(b.event("5", 5, 2, chunks(at(1, 1, "Hei, ", false)))), object{"sequence": 3, "hits": 3}) // of a revision that was superseded
	b.took(b.event("6", 6, 2, object{"kind": "complete"}))
	wants(t, b.get().result, object{"artifacts.0.parts.0.text": "Hei igjen.", "artifacts.0.parts.1": nil})
}

// Other bytes at a coordinate are an incident that changes nothing, wherever in its
// count a producer brings them; they are answered alike for ever, and operators see
// them (I6).
func TestEventsConflictingContent(t *testing.T) {
	b := newBench(t)
	b.claim()
	b.took(b.event("1", 1, 1, chunks(at(1, 1, "Hei", false))))
	before := b.world.head(b.task)
	for _, e := range []object{
		b.event("passed", 1, 1, chunks(at(1, 1, "Hallo", false))),
		b.event("in place", 2, 1, chunks(at(1, 2, "!", false), at(1, 1, "Hallo", false))),
		b.event("ahead", 9, 1, chunks(at(1, 1, "Hallo", false))),
		b.event("sealing", 2, 1, chunks(at(1, 1, "Hei", true))),
	} {
		for range 2 {
			a := b.refused(e, http.StatusConflict, "CONFLICTING_CONTENT")
			if !strings.Contains(string(a.raw), "chunk 1 of revision 1 of artifact") || a.header.Get("Retry-After") != "" {
				t.Errorf("%.300s", a.raw)
			}
		}
	}
	b.refused(b.event("1", 1, 1, chunks(at(1, 1, "Hallo", false))), http.StatusConflict, "EVENT_ID_CONFLICT")
	if after := b.world.head(b.task); after != before {
		t.Errorf("the head is %+v, was %+v", after, before)
	}
	if c := b.counts(); c != (ledger.Counts{Rejections: 5, Incidents: 5, Hits: 4}) {
		t.Errorf("the counts are %+v", c)
	}
	kept, err := b.ledger.Rejections(t.Context(), b.ref(b.task))
	if err != nil || len(kept) != 5 || kept[0].Reason != lifecycle.ConflictingContent || kept[0].EventID != "passed" || kept[0].Producer != "producer:w1" {
		t.Errorf("kept are %+v, %v", kept, err)
	}
	a := b.with("Authorization", "Bearer "+tenant+"/me/operator:read").exported(b.task)
	if n := strings.Count(string(a.raw), `"reason":"conflicting-content"`); n != 5 || !strings.Contains(string(a.raw), `"incidents":5`) {
		t.Errorf("the export shows %d incidents: %.300s", n, a.raw)
	}
	wants(t, b.took(b.event("2", 2, 1, chunks(at(1, 2, "!", true)))), object{"sequence": 4})
}

// What is ahead may come again; what can never be taken says so; what contradicts itself
// is not read.
func TestEventsCoordinates(t *testing.T) {
	b := newBench(t)
	b.claim()
	early := b.event("early", 1, 1, chunks(at(1, 2, "b", false)))
	for range 2 {
		if a := b.refused(early, http.StatusConflict, "COORDINATE_GAP"); a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", a.header.Get("Retry-After"))
		}
	}
	b.refused(b.event("revision", 1, 1, chunks(at(2, 1, "b", false))), http.StatusConflict, "COORDINATE_GAP")
	both := func(change func(object)) object {
		p := at(1, 1, "a", false)
		change(p)
		return b.event("e", 1, 1, chunks(p))
	}
	for field, e := range map[string]object{
		"payload.chunks[0].revision": both(func(p object) { delete(p, "revision") }),
		"payload.chunks[0].append":   both(func(p object) { p["append"] = true }),
		"payload.chunks[0].number":   both(func(p object) { p["number"] = lifecycle.MaxEntries + 1 }),
	} {
		if a := b.refused(e, http.StatusBadRequest, "INVALID_PARAMS"); len(a.err.fields) == 0 || a.err.fields[0] != field {
			t.Errorf("the fields are %q, want %s", a.err.fields, field)
		}
	}
	for _, change := range []func(object){
		func(p object) { delete(p, "number") }, func(p object) { p["number"] = 0 }, func(p object) { p["revision"] = -1 },
		func(p object) { p["number"] = "1" }, func(p object) { p["number"] = 1.5 }, func(p object) { p["number"] = 1e300 },
	} {
		b.refused(both(change), http.StatusBadRequest, "INVALID_PARAMS")
	}
	if c := b.counts(); c != (ledger.Counts{}) {
		t.Errorf("something was written: %+v", c)
	}
	agreed := at(1, 1, "a", false)
	agreed["append"] = false
	b.took(b.event("early", 1, 1, chunks(agreed))) // a gap leaves nothing behind its event ID
	b.took(b.event("2", 2, 1, chunks(at(1, 2, "b", true))))
	a := b.refused(b.event("sealed", 3, 1, chunks(at(1, 3, "c", false))), http.StatusBadRequest, "INVALID_PARAMS")
	if !strings.Contains(string(a.raw), "is sealed with 2 chunks") {
		t.Errorf("%.300s", a.raw)
	}
}

// A chunk that stands there is found also when its bytes are in the blob store.
func TestEventsLargeChunkAgain(t *testing.T) {
	b := newBench(t)
	b.claim()
	large := strings.Repeat("large ", 20_000)
	b.took(b.event("1", 1, 1, chunks(at(1, 1, large, false))))
	wants(t, b.took(b.event("again", 2, 1, chunks(at(1, 1, large, false)))), object{"sequence": 3, "hits": 1})
	b.refused(b.event("other", 3, 1, chunks(at(1, 1, large+".", false))), http.StatusConflict, "CONFLICTING_CONTENT")
}
