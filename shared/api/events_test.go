package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// outside makes the default agent one that is served from outside, with a grace of a
// minute.
func outside(w *world) {
	w.config.Agents = []api.Agent{
		{Name: "outer", Version: 1, FirstStep: "outside", Outside: true, InputModes: []string{"text/plain", "application/json"}},
		{Name: "inner", Version: 1, FirstStep: "begin"},
	}
}

// bench is a task of an agent that is served from outside, and a worker for it.
type bench struct {
	*world
	client

	t    *testing.T
	task string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	w := newWorld(t, outside)
	b := &bench{world: w, client: w.client(t, false), t: t}
	b.task = b.submit("Translate, please.")
	return b
}

func (b *bench) submit(words string) string {
	b.t.Helper()
	a := b.call("SendMessage", immediately(message(a2a.NewMessageID(), words)))
	if a.err != nil {
		b.t.Fatalf("%.300s", a.raw)
	}
	return text(a.result, "task.id")
}

// digest is taken as a worker takes it. encoding/json sorts the names of a map, and
// nothing in these payloads needs more of RFC 8785.
func digest(t *testing.T, payload object) string {
	t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// event is an event of worker w1. seq and fence are left out when they are 0.
func (b *bench) event(id string, seq, fence int, payload object) object {
	b.t.Helper()
	e := object{"eventId": id, "producer": "w1", "observedAt": "2026-03-02T09:00:00.000Z", "payload": payload, "payloadDigest": digest(b.t, payload)}
	if seq > 0 {
		e["sourceSequence"] = seq
	}
	if fence > 0 {
		e["fence"] = fence
	}
	return e
}

func (b *bench) post(e object) answer {
	b.t.Helper()
	body, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.send(b.raw(b.t.Context(), http.MethodPost, "/tasks/"+b.task+"/events", string(body)))
}

// took wants an event accepted.
func (b *bench) took(e object) object {
	b.t.Helper()
	a := b.post(e)
	if a.err != nil || a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		b.t.Fatalf("event %s: status %d, %.400s", e["eventId"], a.status, a.raw)
	}
	return a.result
}

// refused wants it refused with a reason.
func (b *bench) refused(e object, status int, reason string) answer {
	b.t.Helper()
	a := b.post(e)
	if a.err == nil || a.status != status || a.err.reason != reason {
		b.t.Fatalf("event %s: status %d, %.400s, want %d %s", e["eventId"], a.status, a.raw, status, reason)
	}
	return a
}

func (b *bench) claim() int {
	b.t.Helper()
	got := b.took(b.event("claim-"+a2a.NewMessageID(), 0, 0, object{"kind": "claim"}))
	fence, _ := got["fence"].(float64)
	return int(fence)
}

func (b *bench) counts() ledger.Counts {
	b.t.Helper()
	n, err := b.ledger.Counts(b.t.Context(), b.ref(b.task))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bench) get() answer {
	b.t.Helper()
	return b.call("GetTask", object{"id": b.task})
}

func wants(t *testing.T, got object, want object) {
	t.Helper()
	for path, v := range want {
		w, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := json.Marshal(dig(got, path)); err != nil || string(g) != string(w) {
			t.Errorf("%s is %s, want %s, in %v", path, g, w, got)
		}
	}
}

func piece(artifact, content string, appends, last bool) object {
	sum := sha256.Sum256([]byte(content))
	return object{"artifactId": artifact, "append": appends, "lastChunk": last, "part": object{"text": content}, "checksum": hex.EncodeToString(sum[:])}
}

// The life of a task whose agent is elsewhere: no execution is told of it, and its
// caller sees what everybody sees of a task.
func TestEventsLife(t *testing.T) {
	b := newBench(t)
	claimed := b.took(b.event("c", 0, 0, object{"kind": "claim", "leaseSeconds": 60}))
	wants(t, claimed, object{
		"fence": 1, "state": "TASK_STATE_WORKING", "sequence": 2, "hits": 0, "producer": "w1", "eventId": "c", "taskId": b.task,
		"work.message.parts.0.text": "Translate, please.", "work.message.role": "ROLE_USER", "work.last.sourceSequence": 0, "work.artifacts": []any{},
		"leaseUntil": b.clock.Now().Add(time.Minute).UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	b.took(b.event("1", 1, 1, object{"kind": "status", "text": "Page 1 of 2", "state": object{"page": 1}}))
	b.took(b.event("r", 0, 1, object{"kind": "renew"}))
	b.took(b.event("2", 2, 1, object{"kind": "chunk", "chunks": []any{piece("out", "Hei, ", false, false), piece("out", "verden.", true, true)}}))
	wants(t, b.took(b.event("3", 3, 1, object{"kind": "complete", "message": object{"parts": []any{object{"text": "Done."}}, "metadata": object{"pages": 2}}})),
		object{"state": "TASK_STATE_COMPLETED", "leaseUntil": nil, "fence": 1})
	seen := b.get().result
	wants(t, seen, object{
		"status.state": "TASK_STATE_COMPLETED", "status.message.parts.0.text": "Done.", "status.message.metadata.pages": 2, "history.1.parts.0.text": "Page 1 of 2",
		"artifacts.0.parts.0.text": "Hei, ", "artifacts.0.parts.1.text": "verden.",
	})
	if n, answers := b.told(); n != 0 || len(answers) != 0 {
		t.Errorf("executions were told of %d submissions and of %v", n, answers)
	}
	entries, err := b.ledger.Entries(t.Context(), b.ref(b.task), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e := entries[0]; e.Producer != "producer:w1" || e.EventID != "1" || e.SourceSeq != 1 || e.Fence != 1 || !e.ObservedAt.Equal(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("the entry is %+v", e)
	}
}

// A worker that died goes on from its last checkpoint, under a higher fence, and
// knows which report was its last.
func TestEventsGoOn(t *testing.T) {
	b := newBench(t)
	b.took(b.event("c", 0, 0, object{"kind": "claim"}))
	b.took(b.event("1", 1, 1, object{"kind": "status", "state": object{"page": 1, "rows": []any{9007199254740991}}}))
	b.took(b.event("2", 2, 1, object{"kind": "chunk", "chunks": []any{piece("out", "Hei", false, false)}}))
	b.took(b.event("3", 3, 1, object{"kind": "message", "text": "Still here."})) // without a state: the last one stays
	wants(t, b.took(b.event("c2", 0, 0, object{"kind": "claim"})), object{
		"fence": 2, "work.state.page": 1, "work.state.rows.0": 9007199254740991, "work.last": object{"sourceSequence": 3, "eventId": "3"},
		"work.artifacts": []any{object{"artifactId": "out", "revision": 1, "chunks": 1, "bytes": 3, "sealed": false}},
	})
	b.refused(b.event("4", 4, 1, object{"kind": "complete"}), http.StatusConflict, "FENCE_LOST")
	b.refused(b.event("r", 0, 1, object{"kind": "renew"}), http.StatusConflict, "FENCE_LOST")
	b.refused(b.event("4b", 4, 2, object{"kind": "complete"}), http.StatusBadRequest, "INVALID_PARAMS") // an artifact is open
	b.took(b.event("4b", 4, 2, object{"kind": "chunk", "chunks": []any{piece("out", "!", true, true)}}))
	b.took(b.event("5", 5, 2, object{"kind": "complete"}))
}

// Another worker waits for the lease, and is told for how long.
func TestEventsLease(t *testing.T) {
	b := newBench(t)
	b.claim()
	other := b.event("c", 0, 0, object{"kind": "claim"})
	other["producer"] = "w2"
	a := b.refused(other, http.StatusConflict, "LEASE_HELD")
	if a.header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	b.clock.Advance(lifecycle.DefaultLease)
	wants(t, b.took(other), object{"fence": 2})
	b.refused(b.event("1", 1, 1, object{"kind": "status", "text": "late"}), http.StatusConflict, "FENCE_LOST")
	other = b.event("release", 0, 2, object{"kind": "release"})
	other["producer"] = "w2"
	wants(t, b.took(other), object{"leaseUntil": nil})
	wants(t, b.took(other), object{"hits": 1})
	b.claim()
}

// The same event again is the first answer; other bytes under its name are an
// incident; a passed sequence loses, a gap waits.
func TestEventsAgain(t *testing.T) {
	b := newBench(t)
	claim := b.event("c", 0, 0, object{"kind": "claim"})
	b.took(claim)
	wants(t, b.took(claim), object{"fence": 1, "hits": 1, "state": "TASK_STATE_WORKING"})
	one := b.event("1", 1, 1, object{"kind": "status", "text": "One."})
	first := b.took(one)
	b.took(b.event("2", 2, 1, object{"kind": "status", "text": "Two."}))
	again := b.took(one)
	wants(t, again, object{"hits": 1, "sequence": first["sequence"], "payloadDigest": first["payloadDigest"]})
	renamed := b.event("1", 3, 1, object{"kind": "status", "text": "Another one."})
	b.refused(renamed, http.StatusConflict, "EVENT_ID_CONFLICT")
	stale := b.event("1b", 2, 1, object{"kind": "status", "text": "Another two."})
	b.refused(stale, http.StatusConflict, "STALE_SEQUENCE")
	b.refused(stale, http.StatusConflict, "STALE_SEQUENCE")
	gap := b.event("4", 4, 1, object{"kind": "status", "text": "Four."})
	if a := b.refused(gap, http.StatusConflict, "SEQUENCE_GAP"); a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	b.took(b.event("3", 3, 1, object{"kind": "status", "text": "Three."}))
	b.took(gap)
	if n := b.counts(); n != (ledger.Counts{Rejections: 2, Incidents: 1, Hits: 3}) {
		t.Errorf("the counts are %+v", n)
	}
	var told []string
	for i := range 4 {
		told = append(told, text(b.get().result, "history."+string(rune('1'+i))+".parts.0.text"))
	}
	if told[3] = text(b.get().result, "status.message.parts.0.text"); !slices.Equal(told, []string{"One.", "Two.", "Three.", "Four."}) {
		t.Errorf("the caller sees %q", told)
	}
}

// A cancellation is met by the worker: it is told with its next renewal or report,
// and decides. What comes after is kept apart.
func TestEventsCancel(t *testing.T) {
	b := newBench(t)
	b.claim()
	b.must(b.task, lifecycle.RequestCancel{Principal: "p"})
	b.refused(b.event("r", 0, 1, object{"kind": "renew"}), http.StatusConflict, "CANCEL_REQUESTED")
	b.refused(b.event("1", 1, 1, object{"kind": "status", "text": "Going on."}), http.StatusConflict, "CANCEL_REQUESTED")
	wants(t, b.took(b.event("end", 1, 1, object{"kind": "cancel"})), object{"state": "TASK_STATE_CANCELED"})
	if a := b.call("CancelTask", object{"id": b.task}); text(a.result, "status.state") != "TASK_STATE_CANCELED" {
		t.Errorf("the caller was told %.300s", a.raw)
	}
	late := b.event("late", 2, 1, object{"kind": "status", "text": "A secret that came late."})
	a := b.refused(late, http.StatusConflict, "POST_TERMINAL")
	b.refused(late, http.StatusConflict, "POST_TERMINAL")
	if strings.Contains(string(a.raw), "secret") || strings.Contains(string(b.get().raw), "secret") {
		t.Error("late output is shown")
	}
	kept, err := b.ledger.Quarantine(t.Context(), b.ref(b.task))
	if err != nil || len(kept) != 1 || !strings.Contains(string(kept[0].Payload), "secret") || kept[0].Producer != "producer:w1" {
		t.Errorf("quarantined is %+v (%v)", kept, err)
	}
	if n := b.counts(); n != (ledger.Counts{Rejections: 1, Quarantined: 1, Hits: 1}) {
		t.Errorf("the counts are %+v", n)
	}
	b.refused(b.event("c9", 0, 0, object{"kind": "claim"}), http.StatusConflict, "POST_TERMINAL")
}

// A cancellation of what nobody holds any more is settled by the next claim.
func TestEventsCanceledBeforeClaim(t *testing.T) {
	b := newBench(t)
	b.claim()
	b.must(b.task, lifecycle.RequestCancel{Principal: "p"})
	b.clock.Advance(lifecycle.DefaultLease)
	claim := b.event("c2", 0, 0, object{"kind": "claim"})
	b.refused(claim, http.StatusConflict, "POST_TERMINAL")
	b.refused(claim, http.StatusConflict, "POST_TERMINAL")
	if h := b.world.head(b.task); h.State != lifecycle.Canceled {
		t.Errorf("the state is %s", h.State)
	}
}

// A worker asks, gives the lease back by it, and goes on with the answer.
func TestEventsPause(t *testing.T) {
	b := newBench(t)
	b.claim()
	wants(t, b.took(b.event("ask", 1, 1, object{"kind": "pause", "text": "Which dialect?", "pause": object{"timeoutSeconds": 60, "named": true}, "state": object{"asked": true}})),
		object{"state": "TASK_STATE_INPUT_REQUIRED", "leaseUntil": nil})
	b.refused(b.event("c2", 0, 0, object{"kind": "claim"}), http.StatusConflict, "ILLEGAL_TRANSITION")
	if n := b.counts(); n.Rejections != 0 {
		t.Errorf("asking for the lease counts: %+v", n)
	}
	reply := with(message("m-2", "Nynorsk."), object{"taskId": b.task, "metadata": extension(object{"pause": 1})})
	if a := b.call("SendMessage", immediately(reply)); a.err != nil {
		t.Fatalf("%.300s", a.raw)
	}
	wants(t, b.took(b.event("c3", 0, 0, object{"kind": "claim"})), object{"fence": 2, "work.message.parts.0.text": "Nynorsk.", "work.state.asked": true, "work.last.sourceSequence": 1})
	b.took(b.event("auth", 2, 2, object{"kind": "pause", "text": "May I?", "pause": object{"for": "authorization", "action": "publish", "audience": "owners"}}))
	if h := b.world.head(b.task); h.State != lifecycle.AuthRequired || h.Challenge.Action != "publish" {
		t.Errorf("the head is %+v", h)
	}
	if n, answers := b.told(); n != 0 || len(answers) != 0 {
		t.Errorf("executions were told of %d submissions and of %v", n, answers)
	}
}

// Other ways to end.
func TestEventsEnd(t *testing.T) {
	for kind, state := range map[string]string{"fail": "TASK_STATE_FAILED", "reject": "TASK_STATE_REJECTED"} {
		b := newBench(t)
		b.claim()
		wants(t, b.took(b.event("end", 1, 1, object{"kind": kind, "reason": "no dictionary", "text": "I cannot."})), object{"state": state})
		wants(t, b.get().result, object{"status.message.parts.0.text": "I cannot."})
		b.refused(b.event("late", 2, 1, object{"kind": "complete"}), http.StatusConflict, "POST_TERMINAL")
		if kept, err := b.ledger.Quarantine(t.Context(), b.ref(b.task)); err != nil || len(kept) != 0 {
			t.Errorf("quarantined is %+v (%v)", kept, err)
		}
	}
}

// Large parts go to the blob store both ways: a worker is given the bytes.
func TestEventsLarge(t *testing.T) {
	w := newWorld(t, outside)
	b := &bench{world: w, client: w.client(t, false), t: t}
	large := strings.Repeat("ø", lifecycle.MaxInlineBytes)
	m := message("m-1", large)
	m["parts"] = append(m["parts"].([]any), object{"raw": strings.Repeat("AAAA", lifecycle.MaxInlineBytes)}, object{"data": object{"all": large}})
	a := b.call("SendMessage", immediately(m))
	b.task = text(a.result, "task.id")
	claimed := b.took(b.event("c", 0, 0, object{"kind": "claim"}))
	if text(claimed, "work.message.parts.0.text") != large || len(text(claimed, "work.message.parts.1.raw")) < lifecycle.MaxInlineBytes || text(claimed, "work.message.parts.2.data.all") != large {
		t.Error("the worker does not get what the caller sent")
	}
	b.took(b.event("1", 1, 1, object{"kind": "chunk", "chunks": []any{piece("out", large, false, true)}}))
	if url := text(b.get().result, "artifacts.0.parts.0.url"); !strings.Contains(url, "/blobs/") {
		t.Errorf("the artifact's part is at %q", url)
	}
}
