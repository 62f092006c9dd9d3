package simulation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// pages is how many a task of the outside agent has: each is reported once, in order,
// whoever works on it.
const pages = 4

// worker is a program elsewhere that claims tasks and reports to them. It dies without
// a word, stands still beyond its lease and goes on as if nothing had happened, and
// repeats what was not answered.
type worker struct {
	*client

	name  string
	said  int
	mu    sync.Mutex
	taken map[string]accepted // events that were accepted, by their ID
}

type accepted struct {
	ref lifecycle.Ref
	seq uint64
}

func (c *client) newWorker(n int) *worker {
	name := fmt.Sprintf("w%d", n)
	return &worker{client: c.as(name), name: name, taken: map[string]accepted{}}
}

// told is the answer to an event.
type told struct {
	Sequence, Fence uint64
	State           a2a.TaskState
	CancelRequested bool
	Work            *struct {
		State struct{ Page int }
		Last  struct{ SourceSequence uint64 }
	}
}

// run works on whatever there is.
func (k *worker) run() {
	for range 24 {
		k.pause(40 * time.Second)
		var refs []lifecycle.Ref
		for _, ref := range k.w.witness.tasks() {
			if h := k.w.history(ref); ref.Tenant == k.tenant && k.w.outsiders[ref.Task] && !h.state().Terminal() {
				refs = append(refs, ref)
			}
		}
		if len(refs) > 0 {
			k.work(refs[k.dice.IntN(len(refs))])
		}
	}
}

// tell brings an event to its task, again and again until it is answered; false when
// it never was.
func (k *worker) tell(ref lifecycle.Ref, fence, seq uint64, payload map[string]any) (told, string, bool) {
	k.said++
	id := fmt.Sprintf("%s-%d", k.name, k.said)
	b, _ := json.Marshal(payload)
	canonical, err := lifecycle.Canonical(json.RawMessage(b))
	if err != nil {
		k.w.broken("worker", "%v", err)
	}
	event := map[string]any{
		"eventId": id, "producer": k.name, "observedAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"payloadDigest": lifecycle.DigestBytes(canonical), "payload": payload,
	}
	if fence > 0 {
		event["fence"] = fence
	}
	if seq > 0 {
		event["sourceSequence"] = seq
	}
	body, _ := json.Marshal(event)
	for range 6 {
		r, err := k.do(http.MethodPost, "/outsider/tasks/"+string(ref.Task)+"/events", string(body))
		if err != nil || r.status == http.StatusServiceUnavailable || r.reason == "SEQUENCE_GAP" {
			k.pause(12 * time.Second)
			continue
		}
		if !r.ok() {
			k.refusedAs(r, "an event", "FENCE_LOST", "LEASE_HELD", "STALE_SEQUENCE", "POST_TERMINAL", "CANCEL_REQUESTED", "ILLEGAL_TRANSITION")
			return told{}, r.reason, true
		}
		var t told
		if err := r.into(&t); err != nil {
			k.w.broken("api", "an answer that cannot be read: %s", r.body)
			return t, "", false
		}
		if seq > 0 {
			k.mu.Lock()
			if first, again := k.taken[id]; again && first.seq != t.Sequence {
				k.w.broken("I5", "event %s was accepted as entry %d and as entry %d", id, first.seq, t.Sequence)
			}
			k.taken[id] = accepted{ref, t.Sequence}
			k.mu.Unlock()
		}
		if k.dice.IntN(8) == 0 { // the same once more
			continue
		}
		return t, "", true
	}
	return told{}, "", false
}

// work claims a task and reports its pages, from where the last worker was.
func (k *worker) work(ref lifecycle.Ref) {
	claim, reason, answered := k.tell(ref, 0, 0, map[string]any{"kind": "claim", "leaseSeconds": 5 + k.dice.IntN(60)})
	if !answered || reason != "" || claim.Work == nil {
		return
	}
	fence, last := claim.Fence, claim.Work.Last.SourceSequence
	for page := claim.Work.State.Page + 1; ; page++ {
		switch k.dice.IntN(14) {
		case 0: // dies
			return
		case 1, 2: // stands still
			k.pause(2 * time.Minute)
		case 3:
			k.tell(ref, fence, 0, map[string]any{"kind": "release"})
			return
		case 4:
			if _, reason, answered := k.tell(ref, fence, 0, map[string]any{"kind": "renew", "leaseSeconds": 20}); !answered || reason != "" {
				return
			}
		default:
			k.pause(4 * time.Second)
		}
		payload := map[string]any{"kind": "status", "text": fmt.Sprintf("page %d for %s", page, k.mark), "state": map[string]any{"page": page}}
		switch {
		case page > pages:
			payload = map[string]any{"kind": "complete", "text": "all pages for " + k.mark}
		case page == 3 && k.dice.IntN(3) == 0:
			payload["kind"], payload["pause"] = "pause", map[string]any{"timeoutSeconds": 120}
		}
		_, reason, answered := k.tell(ref, fence, last+1, payload)
		if !answered && k.dice.IntN(2) == 0 { // one that has forgotten what it said, but not how far it was
			if _, reason, answered = k.tell(ref, fence, last+1, payload); reason == "STALE_SEQUENCE" {
				reason = ""
			}
		}
		if reason == "STALE_SEQUENCE" {
			k.w.broken("I5", "report %d of %s to task %s is stale: it was never said", last+1, k.name, ref)
		}
		if reason == "CANCEL_REQUESTED" {
			k.tell(ref, fence, last+1, map[string]any{"kind": "cancel"})
			return
		}
		if !answered || reason != "" || payload["kind"] == "pause" || page > pages {
			return
		}
		last++
	}
}

// check is for the end: what was accepted is in the history, once, where it was said to
// be.
func (k *worker) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, a := range k.taken {
		if got := k.w.eventAt(a.ref, a.seq); got.EventID != id || got.Producer != "producer:"+k.name {
			k.w.broken("I5", "event %s of %s was accepted as entry %d of task %s, which is %s of %s", id, k.name, a.seq, a.ref, got.EventID, got.Producer)
		}
	}
}

// checkPages holds a task of the outside agent against what its workers were to report.
func (w *world) checkPages(ref lifecycle.Ref, entries []lifecycle.Entry, state a2a.TaskState) {
	page := 0
	for _, e := range entries {
		if e.Type != lifecycle.TypeProgress && e.Type != lifecycle.TypePaused {
			continue
		}
		ev, err := e.Event()
		if err != nil || ev.Message == nil || len(ev.Message.Parts) == 0 {
			continue
		}
		text := ev.Message.Parts[0].Text()
		page++
		if !strings.HasPrefix(text, fmt.Sprintf("page %d for", page)) {
			w.broken("I3", "task %s: entry %d says %q, due was page %d", ref, e.Seq, text, page)
			return
		}
	}
	if state == lifecycle.Completed && page != pages {
		w.broken("I3", "task %s has completed after %d of %d pages", ref, page, pages)
	}
}
