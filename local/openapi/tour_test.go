package main

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func says(id, words, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}}`, id, words, more)
}

// trailer is the end of an export: how far it goes, and the chain up to there.
var trailer = regexp.MustCompile(`"seq":(\d+),"chain":"([0-9a-f]{64})"\}\}\s*$`)

// workerEvent is what a worker from outside sends.
func workerEvent(t *testing.T, id, more, payload string) string {
	t.Helper()
	digest, err := lifecycle.DigestJSON(rawJSON(payload))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"eventId":%q,"producer":"w","observedAt":"2026-03-02T09:00:00.000Z","payloadDigest":%q,"payload":%s%s}`, id, digest, payload, more)
}

type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// Each operation that is described is done, and each refusal that is described is
// provoked, against a running door: all answers are as described, down to the events
// of streams and the lines of exports, and have no member that is not.
func TestAnswersAreDescribed(t *testing.T) {
	h := newHouse(t)
	task := h.tourTask()
	h.tourWebhooks(task)
	h.tourOutside()
	h.tourRefusals(task)
	for _, path := range []string{"/.well-known/jwks.json", "/.well-known/webhook-keys.json", "/healthz", "/health", "/extendedAgentCard", "/toured/extendedAgentCard"} {
		h.ask(200, http.MethodGet, path, "")
	}
	h.ask(200, http.MethodGet, "/.well-known/agent-card.json", "")
	h.ask(304, http.MethodGet, "/.well-known/agent-card.json", "", "If-None-Match", "*")
	h.ask(200, http.MethodHead, "/tasks/"+task, "")

	statuses := map[int]bool{}
	for _, o := range h.contract.Operations() {
		if h.seen[o.ID][200] == 0 {
			t.Errorf("%s %s was never answered with 200", o.Method, o.Path)
		}
		for _, status := range o.Statuses() {
			statuses[status] = statuses[status] || h.seen[o.ID][status] > 0
		}
	}
	// What only a fault of ours would bring is not provoked here.
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		if !statuses[status] && status < 500 {
			t.Errorf("no answer had the status %d", status)
		}
	}
}

// tourTask plays a task from its message to its end.
func (h *house) tourTask() string {
	h.t.Helper()
	const more = `,"metadata":{"mine":1},"referenceTaskIds":["another"],"extensions":["urn:other"]`
	h.ask(200, http.MethodPost, "/message:stream", says("m", "go", more), "A2A-Extensions", lifecycle.ExtensionURI)
	id := h.sent("", says("m", "go", more)) // the same one, which waits for an answer
	tasks := "/tasks/" + id
	h.ask(200, http.MethodPost, "/message:stream", says("m", "go", more), "Last-Event-ID", "0")
	h.ask(200, http.MethodGet, tasks+":subscribe", "", "Last-Event-ID", "1") // it waits: the stream ends
	h.ask(200, http.MethodPost, tasks+":subscribe", fmt.Sprintf(`{"metadata":{%q:{"after":2}}}`, lifecycle.ExtensionURI))
	for _, path := range []string{
		"", "?historyLength=0", "/effects", "/ledger", "/ledger?after=2&limit=2", "/artifacts/draft", "/artifacts/draft?after=1", "/artifacts/large", "/export",
	} {
		h.ask(200, http.MethodGet, tasks+path, "")
	}
	found := blob.FindSubmatch(h.ask(200, http.MethodGet, tasks, ""))
	if found == nil {
		h.t.Fatal("the task has no large part")
	}
	h.ask(200, http.MethodGet, tasks+"/blobs/"+string(found[1]), "")
	h.ask(400, http.MethodPost, "/message:send", says("late", "Oslo", fmt.Sprintf(`,"taskId":%q,"metadata":{%q:{"pause":7}}`, id, lifecycle.ExtensionURI)))
	h.sent("", says("reply", "Oslo", fmt.Sprintf(`,"taskId":%q`, id)))
	h.ask(400, http.MethodPost, tasks+"/authorizations", `{"receipt":"no"}`)
	h.ask(200, http.MethodGet, "/tasks?includeArtifacts=true&status=TASK_STATE_AUTH_REQUIRED&pageSize=1", "")
	h.ask(200, http.MethodPost, tasks+"/authorizations", `{"receipt":"yes"}`)
	h.sent("", says("m", "go", more)) // until it has ended
	h.ask(200, http.MethodGet, tasks, "")
	export := h.ask(200, http.MethodGet, tasks+"/export", "")
	receipt := trailer.FindSubmatch(export)
	if receipt == nil {
		h.t.Fatalf("the export has no trailer: %s", export)
	}
	h.ask(409, http.MethodPost, tasks+"/acknowledgement", fmt.Sprintf(`{"sequence":1,"digest":%q}`, receipt[2]))
	h.ask(200, http.MethodPost, tasks+"/acknowledgement", fmt.Sprintf(`{"sequence":%s,"digest":%q}`, receipt[1], receipt[2]))
	h.ask(200, http.MethodGet, tasks+"/ledger", "")
	h.ask(200, http.MethodGet, "/tasks", "", "Accept", "application/json")
	return id
}

// tourWebhooks registers, reads, replays and removes a webhook, behind which is nothing; the task
// waits meanwhile.
func (h *house) tourWebhooks(ended string) {
	h.t.Helper()
	id := h.sent("", says("hooked", "go", ""))
	hooks := "/tasks/" + id + "/pushNotificationConfigs"
	h.ask(200, http.MethodPost, hooks, fmt.Sprintf(`{"id":"h","url":%q,"token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}`, h.url+"/hook"))
	h.ask(200, http.MethodGet, hooks, "")
	h.ask(200, http.MethodGet, hooks+"/h", "")
	h.replayed(hooks+"/h/replay", "")
	h.replayed(hooks+":replay", `{"since":0}`)
	h.ask(400, http.MethodPost, hooks+":replay", `{"since":1000}`)
	h.ask(404, http.MethodPost, hooks+"/other/replay", "")
	h.ask(200, http.MethodDelete, hooks+"/h", "")
	h.ask(404, http.MethodGet, hooks+"/h", "")
	h.ask(400, http.MethodPost, hooks, `{"url":"gopher://x"}`)
	h.ask(400, http.MethodPost, hooks, fmt.Sprintf(`{"url":%q,"authentication":{"scheme":%q}}`, h.url+"/hook", strings.Repeat("x", 65)))
	h.ask(200, http.MethodPost, "/tasks/"+id+":cancel", "")
	h.ask(200, http.MethodPost, "/tasks/"+id+":cancel", `{"metadata":{}}`)
	h.ask(400, http.MethodPost, "/tasks/"+ended+":cancel", "")
	h.ask(400, http.MethodGet, "/tasks/"+ended+":subscribe", "")
}

// tourOutside is a worker from outside.
func (h *house) tourOutside() {
	h.t.Helper()
	id := h.sent("/outside", strings.Replace(says("o", "work", ""), "}}", `},"configuration":{"returnImmediately":true}}`, 1))
	events := "/outside/tasks/" + id + "/events"
	h.ask(200, http.MethodPost, events, workerEvent(h.t, "e1", "", `{"kind":"claim","leaseSeconds":60}`))
	h.ask(200, http.MethodPost, events, workerEvent(h.t, "e2", `,"fence":1,"sourceSequence":1`, `{"kind":"status","text":"At it.","state":{"page":1}}`))
	h.ask(200, http.MethodPost, events, workerEvent(h.t, "e2", `,"fence":1,"sourceSequence":1`, `{"kind":"status","text":"At it.","state":{"page":1}}`))
	h.ask(409, http.MethodPost, events, workerEvent(h.t, "e3", `,"fence":1,"sourceSequence":3`, `{"kind":"status","text":"Too far."}`))
	h.ask(409, http.MethodPost, events, workerEvent(h.t, "e4", `,"fence":9,"sourceSequence":2`, `{"kind":"complete"}`))
	h.ask(400, http.MethodPost, events, workerEvent(h.t, "e5", "", `{"kind":"dance"}`))
	h.ask(200, http.MethodPost, events, workerEvent(h.t, "e6", `,"fence":1,"sourceSequence":2`, `{"kind":"complete","text":"Done."}`))
}

// tourRefusals are requests that are wrong in each way that has a status of its own.
func (h *house) tourRefusals(task string) {
	h.t.Helper()
	h.ask(400, http.MethodPost, "/message:send", `{"message":`)
	h.ask(400, http.MethodPost, "/message:send", `{"message":{"parts":[{"text":"a","raw":"!"},{}],"role":7}}`)
	h.ask(400, http.MethodPost, "/message:stream", `[]`)
	h.ask(400, http.MethodGet, "/tasks?pageSize=0&status=x", "")
	h.ask(400, http.MethodGet, "/tasks", "", "A2A-Version", "0.3")
	h.ask(400, http.MethodGet, "/outside/extendedAgentCard", "")
	h.ask(401, http.MethodGet, "/tasks", "", "X-Name", "nobody")
	h.ask(403, http.MethodGet, "/tasks/"+task+"/effects", "", "X-Name", "stranger")
	h.ask(403, http.MethodPost, "/message:send", `{}`, "Sec-Fetch-Site", "cross-site")
	for _, path := range []string{"", "/ledger", "/effects", "/export", "/artifacts/x", "/blobs/x", "/pushNotificationConfigs", ":subscribe"} {
		h.ask(404, http.MethodGet, "/tasks/none"+path, "")
	}
	h.ask(404, http.MethodGet, "/tasks/"+task+"/artifacts/none", "")
	h.ask(404, http.MethodGet, "/nowhere", "")
	h.ask(405, http.MethodPut, "/tasks", "")
	h.ask(409, http.MethodPost, "/message:send", says("m", "another", ""))
	h.ask(413, http.MethodPost, "/message:send", says("huge", strings.Repeat("x", 5<<20), ""))
	h.ask(415, http.MethodPost, "/message:send", says("m", "go", ""), "Content-Type", "text/plain")
}
