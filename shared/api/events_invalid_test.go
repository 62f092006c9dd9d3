package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// What is wrong with an event is named, and nothing is written.
func TestEventsInvalid(t *testing.T) {
	b := newBench(t)
	b.claim()
	before := b.world.head(b.task)
	status := object{"kind": "status", "text": "x"}
	change := func(fields object) object {
		e := maps.Clone(b.event("e", 1, 1, status))
		for name, v := range fields {
			if e[name] = v; v == nil {
				delete(e, name)
			}
		}
		return e
	}
	payload := func(p object) object { return b.event("e", 1, 1, p) }
	wrong := piece("out", "x", false, false)
	wrong["checksum"] = strings.Repeat("0", 64)
	for _, c := range []struct {
		event object
		field string
	}{
		{object{}, "eventId"},
		{change(object{"eventId": nil}), "eventId"},
		{change(object{"eventId": strings.Repeat("x", 129)}), "eventId"},
		{change(object{"producer": ""}), "producer"},
		{change(object{"producer": strings.Repeat("x", 49)}), "producer"},
		{change(object{"sourceSequence": nil}), "sourceSequence"},
		{change(object{"sourceSequence": 0}), "sourceSequence"},
		{change(object{"sourceSequence": "1"}), "sourceSequence"},
		{change(object{"fence": nil}), "fence"},
		{change(object{"fence": -1}), "fence"},
		{change(object{"observedAt": nil}), "observedAt"},
		{change(object{"observedAt": "yesterday"}), "observedAt"},
		{change(object{"payloadDigest": nil}), "payloadDigest"},
		{change(object{"payloadDigest": strings.Repeat("0", 64)}), "payloadDigest"},
		{change(object{"payload": "x"}), "payload"},
		{payload(object{"kind": "dance"}), "payload.kind"},
		{payload(object{"kind": "status"}), "payload.text"},
		{payload(object{"kind": "status", "text": 1}), "payload.text"},
		{payload(object{"kind": "status", "text": "x", "message": object{"parts": []any{object{"text": "x"}}}}), "payload.text"},
		{payload(object{"kind": "message", "message": object{"parts": []any{}}}), "payload.message.parts"},
		{payload(object{"kind": "complete", "state": object{}}), "payload.state"},
		{payload(object{"kind": "fail"}), "payload.reason"},
		{payload(object{"kind": "chunk"}), "payload.chunks"},
		{payload(object{"kind": "chunk", "chunks": []any{}}), "payload.chunks"},
		{payload(object{"kind": "chunk", "chunks": []any{wrong}}), "payload.chunks[0].checksum"},
		{payload(object{"kind": "chunk", "chunks": []any{object{"artifactId": "a"}}}), "payload.chunks[0].part"},
		{payload(object{"kind": "pause", "text": "?", "pause": object{"for": "fun"}}), "payload.pause.for"},
		{payload(object{"kind": "pause", "text": "?", "pause": object{"for": "authorization"}}), "payload.pause.action"},
		{payload(object{"kind": "pause", "text": "?", "pause": object{"action": "x"}}), "payload.pause.action"},
		{b.event("e", 0, 0, object{"kind": "claim", "leaseSeconds": 301}), "payload.leaseSeconds"},
		{b.event("e", 1, 0, object{"kind": "claim"}), "sourceSequence"},
		{b.event("e", 0, 1, object{"kind": "claim"}), "fence"},
		{b.event("e", 0, 0, object{"kind": "renew"}), "fence"},
	} {
		a := b.refused(c.event, http.StatusBadRequest, "INVALID_PARAMS")
		if !slices.Contains(a.err.fields, c.field) {
			t.Errorf("%v: the fields are %q, want %s", c.event, a.err.fields, c.field)
		}
	}
	// What the rules refuse can be corrected under the same event ID.
	b.refused(payload(object{"kind": "chunk", "chunks": []any{piece("out", "x", true, false)}}), http.StatusBadRequest, "INVALID_PARAMS")
	if after := b.world.head(b.task); after != before || b.counts() != (ledger.Counts{}) {
		t.Errorf("something was written: %+v", after)
	}
	b.took(payload(object{"kind": "chunk", "chunks": []any{piece("out", "x", false, false)}}))
}

// Events need the scope of producers, and a task of an agent that is outside.
func TestEventsScope(t *testing.T) {
	b := newBench(t)
	claim := b.event("c", 0, 0, object{"kind": "claim"})
	for _, scope := range []string{"caller", "operator:read", "operator:act"} {
		c := *b
		c.client = b.with("Authorization", "Bearer "+tenant+"/me/"+scope)
		c.refused(claim, http.StatusForbidden, "UNAUTHORIZED")
	}
	c := *b
	c.client = b.with("Authorization", "Bearer elsewhere/me/producer")
	c.refused(claim, http.StatusNotFound, "TASK_NOT_FOUND") // I10
	c.client = b.with("Authorization", "Bearer "+tenant+"/me/producer")
	c.took(claim)
	if a := c.get(); a.err == nil || a.err.reason != "UNAUTHORIZED" {
		t.Errorf("a producer reads tasks: %.300s", a.raw)
	}
	inner := *b
	inner.client = b.at("inner")
	inner.task = inner.submit("Hello.")
	inner.refused(claim, http.StatusBadRequest, "UNSUPPORTED_OPERATION")
	if n, _ := b.told(); n != 1 {
		t.Errorf("executions were told of %d submissions, want the inner agent's", n)
	}
	if a := b.send(b.raw(t.Context(), http.MethodGet, "/tasks/"+b.task+"/events", "")); a.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", a.status)
	}
}
