package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// exporting gives the agents a policy that keeps exported tasks for two hours.
func exporting(w *world) {
	judged := lifecycle.DefaultPolicy()
	judged.Version = "gold@3"
	judged.Terms = &lifecycle.Terms{Digest: lifecycle.DigestBytes([]byte("document")), Seconds: lifecycle.Spans{Failed: 864_000, Exported: 7200}}
	for i := range w.config.Agents {
		w.config.Agents[i].Policy = judged
	}
}

func (c client) acknowledge(id, body string) answer {
	c.t.Helper()
	return c.send(c.raw(c.t.Context(), "POST", "/tasks/"+id+"/acknowledgement", body))
}

// receiptOf is the terminal receipt as the export's trailer has it.
func (c client) receiptOf(id string) string {
	c.t.Helper()
	report, err := export.Verify(bytes.NewReader(c.exported(id).raw))
	if err != nil || !report.OK() {
		c.t.Fatalf("%v, %v", report.Violations, err)
	}
	return fmt.Sprintf(`{"sequence":%d,"digest":%q}`, report.Seq, report.Chain)
}

// A caller exports a finished task and acknowledges it: from then on the shorter retention counts, twice is once, and
// after it the task is not found. It is no entry: the export is what it was but for the head.
func TestAcknowledge(t *testing.T) {
	w := newWorld(t, exporting)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, story()...)
	before := w.head(id)
	receipt := c.receiptOf(id)
	w.clock.Advance(time.Minute)
	at := w.clock.Now().UTC()
	first := c.acknowledge(id, receipt)
	want := object{
		"task": id, "sequence": float64(before.Seq), "digest": string(before.Chain),
		"acknowledgedAt": at.Format("2006-01-02T15:04:05.000Z"), "expiresAt": at.Add(2 * time.Hour).Format("2006-01-02T15:04:05.000Z"),
	}
	if first.status != http.StatusOK || encode(t, first.result) != encode(t, want) {
		t.Fatalf("%d %s, want %s", first.status, first.raw, encode(t, want))
	}
	w.clock.Advance(time.Minute)
	metadata := own(c.ok("GetTask", object{"id": id}))["receipt"] // with the manifest's digest
	for what, body := range map[string]string{"the same again": receipt, "as the metadata has it": encode(t, metadata)} {
		if again := c.acknowledge(id, body); again.status != http.StatusOK || !bytes.Equal(again.raw, first.raw) {
			t.Errorf("%s: %d %s, want %s", what, again.status, again.raw, first.raw)
		}
	}
	if got := c.receiptOf(id); got != receipt {
		t.Errorf("the export ends with %s, it ended with %s", got, receipt)
	}
	ledgerHead, _ := c.send(c.raw(t.Context(), "GET", "/tasks/"+id+"/ledger", "")).result["head"].(object)
	if ledgerHead["acknowledgedAt"] == nil || ledgerHead["expiresAt"] == nil {
		t.Errorf("the ledger shows %v", ledgerHead)
	}
	w.clock.Advance(2 * time.Hour)
	c.refused("GetTask", object{"id": id}, "TASK_NOT_FOUND")
	if gone := c.acknowledge(id, receipt); gone.status != http.StatusNotFound || gone.err.reason != "TASK_NOT_FOUND" {
		t.Errorf("after the expiry: %d %s", gone.status, gone.raw)
	}
}

// What is not this task's terminal receipt is refused with what to do, and changes nothing.
func TestAcknowledgeIsRefused(t *testing.T) {
	w := newWorld(t, exporting)
	c := w.client(t, false)
	live, id := c.submit(message("m-1", "do it")), c.submit(message("m-2", "do it"))
	w.must(id, story()...)
	before, receipt := w.head(id), c.receiptOf(id)
	digest := string(before.Chain)
	for _, k := range []struct {
		what, task, body string
		status           int
		reason, says     string
	}{
		{"another sequence", id, strings.Replace(receipt, `:9,`, `:8,`, 1), 409, "RECEIPT_MISMATCH", "export the task once more"},
		{"another digest", id, strings.Replace(receipt, digest, strings.Repeat("0", 64), 1), 409, "RECEIPT_MISMATCH", "export the task once more"},
		{"another task's", id, c.receiptOf(live), 409, "RECEIPT_MISMATCH", "export the task once more"},
		{"a live task", live, c.receiptOf(live), 409, "TASK_NOT_ENDED", "acknowledge its export when it has ended"},
		{"no digest", id, `{"sequence":9}`, 400, "INVALID_PARAMS", "digest: is required"},
		{"no sequence", id, `{"digest":"` + digest + `"}`, 400, "INVALID_PARAMS", "sequence: is required"},
		{"no digest's form", id, `{"sequence":9,"digest":"planted-secret"}`, 400, "INVALID_PARAMS", "64 lower-case hexadecimal digits"},
		{"sequence 0", id, `{"sequence":0,"digest":"` + digest + `"}`, 400, "INVALID_PARAMS", "at least 1"},
		{"no object", id, `[]`, 400, "INVALID_REQUEST", "must be an object"},
		{"nothing", id, ``, 400, "PARSE_ERROR", "JSON"},
		{"unknown", "none", receipt, 404, "TASK_NOT_FOUND", "does not exist"},
	} {
		a := c.acknowledge(k.task, k.body)
		if a.status != k.status || a.err == nil || a.err.reason != k.reason || !strings.Contains(a.err.message, k.says) || strings.Contains(string(a.raw), "planted") {
			t.Errorf("%s: %d %s, want %d %s", k.what, a.status, a.raw, k.status, k.reason)
		}
	}
	for what, who := range map[string]client{
		"another tenant": c.with("Authorization", "Bearer acme/me"), "an operator": c.with("Authorization", "Bearer local/op/operator:read"), "another agent": c.at("keyed"),
	} {
		a := who.acknowledge(id, receipt)
		if what == "an operator" && a.status != http.StatusForbidden || what != "an operator" && (a.status != http.StatusNotFound || a.err.reason != "TASK_NOT_FOUND") {
			t.Errorf("%s: %d %s", what, a.status, a.raw)
		}
	}
	if got := w.head(id); encode(t, got) != encode(t, before) {
		t.Errorf("the head was changed:\n%s\n%s", encode(t, got), encode(t, before))
	}
}

// While a webhook lacks something, the acknowledged task is kept for as long as it is tried.
func TestAcknowledgeWaitsForWebhooks(t *testing.T) {
	w := newWorld(t, exporting)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, story()...)
	if err := w.ledger.PutEndpoint(t.Context(), w.ref(id), ledger.Endpoint{ID: "h", URL: "https://hooks.example/", Delivery: ledger.Delivery{Cursor: 3}}); err != nil {
		t.Fatal(err)
	}
	a := c.acknowledge(id, c.receiptOf(id))
	want := w.head(id).StatusAt.Add(lifecycle.MinRetention).Format("2006-01-02T15:04:05.000Z")
	if a.status != http.StatusOK || a.result["expiresAt"] != want {
		t.Errorf("%d %s, want %s", a.status, a.raw, want)
	}
}

// The card says which policy counts and for how long tasks can be read: of each end, and after an acknowledged export.
func TestCardSaysRetention(t *testing.T) {
	w := newWorld(t, exporting)
	card := w.client(t, false)
	a := card.send(card.raw(t.Context(), "GET", "/.well-known/agent-card.json", ""))
	params, _ := dig(a.result, "capabilities.extensions.0.params").(object)
	want := object{"completed": 2592000.0, "failed": 864000.0, "canceled": 2592000.0, "rejected": 2592000.0, "acknowledgedExport": 7200.0}
	if params["policy"] != "gold@3" || params["policyDigest"] != string(lifecycle.DigestBytes([]byte("document"))) || encode(t, params["retentionSecondsAfter"]) != encode(t, want) {
		t.Errorf("%v", params)
	}
}
