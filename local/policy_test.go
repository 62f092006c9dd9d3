package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// tell sends an event of an outside producer and returns the answer.
func (p *process) tell(task, id, more, payload string) string {
	p.t.Helper()
	digest, err := lifecycle.DigestJSON(json.RawMessage(payload))
	if err != nil {
		p.t.Fatal(err)
	}
	status, answer := p.call(http.MethodPost, "/scan/tasks/"+task+"/events", fmt.Sprintf(
		`{"eventId":%q,"producer":"w","observedAt":"2026-03-02T09:00:00.000Z","payloadDigest":%q,"payload":%s%s}`, id, digest, payload, more))
	if status != http.StatusOK {
		p.t.Fatalf("event %s: %d %s", id, status, answer)
	}
	return answer
}

// An agent's tasks are accepted under the policy that it names. The lease, the card and the retention are the document's;
// a caller exports the finished task and acknowledges it. The next process has no such document any more: the task is judged
// as before, by what was recorded.
func TestPolicies(t *testing.T) {
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--policies", "testdata/policies", "--outside", "scan=gold@3")
	_, card := p.call(http.MethodGet, "/scan/.well-known/agent-card.json", "")
	has(t, card, `"longestPauseSeconds":7200`, `"policy":"gold@3"`, `"policyDigest":"`, `"acknowledgedExport":3600`, `"failed":7776000`, `"rejected":259200`)
	status, answer := p.call(http.MethodPost, "/scan/message:send", strings.Replace(message("m", "Scan."), "}}", `},"configuration":{"returnImmediately":true}}`, 1))
	var sent struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &sent); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, answer, err)
	}
	task := sent.Task.ID
	p.tell(task, "e1", "", `{"kind":"claim"}`)
	var entries struct {
		Head struct {
			LeaseUntil, StatusAt string
		}
	}
	_, at := p.call(http.MethodGet, "/scan/tasks/"+task+"/ledger", "")
	if err := json.Unmarshal([]byte(at), &entries); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if got := between(t, entries.Head.StatusAt, entries.Head.LeaseUntil); got != 45 {
		t.Errorf("the lease lasts %g s, want the policy's 45", got)
	}
	p.tell(task, "e2", `,"fence":1,"sourceSequence":1`, `{"kind":"reject","reason":"no","text":"No."}`)

	raw, logs, err := played(t, "export", "--server", p.url, "--agent", "scan", task)
	if err != nil {
		t.Fatalf("%v %s", err, logs)
	}
	report := sound(t, raw)
	if report.Counts.Policy != 1 || report.Counts.Settled != 1 {
		t.Errorf("%+v", report.Counts)
	}
	acknowledgement := "/scan/tasks/" + task + "/acknowledgement"
	if status, answer := p.call(http.MethodPost, acknowledgement, fmt.Sprintf(`{"sequence":%d,"digest":%q}`, report.Seq-1, report.Chain)); status != http.StatusConflict || !strings.Contains(answer, "RECEIPT_MISMATCH") {
		t.Errorf("another receipt: %d %s", status, answer)
	}
	status, acked := p.call(http.MethodPost, acknowledgement, fmt.Sprintf(`{"sequence":%d,"digest":%q}`, report.Seq, report.Chain))
	var told struct{ AcknowledgedAt, ExpiresAt string }
	if err := json.Unmarshal([]byte(acked), &told); err != nil || status != http.StatusOK || between(t, told.AcknowledgedAt, told.ExpiresAt) != 3600 {
		t.Fatalf("%d %s: %v", status, acked, err)
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}

	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	p = launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--outside", "scan")
	if _, again := p.call(http.MethodPost, acknowledgement, fmt.Sprintf(`{"sequence":%d,"digest":%q}`, report.Seq, report.Chain)); again != acked {
		t.Errorf("the same again: %s, it was %s", again, acked)
	}
	out, logs, err := played(t, "reconcile", "--server", p.url, "--agent", "scan", task)
	if err != nil {
		t.Fatalf("%v %s", err, logs)
	}
	has(t, out, "settlement", "policy     gold@3, digest ", "billed     0 units, by the basis effects")
	raw, _, err = played(t, "export", "--server", p.url, "--agent", "scan", task)
	if err != nil {
		t.Fatal(err)
	}
	if report := sound(t, raw); report.Counts.Policy != 0 || report.Counts.Settled != 1 {
		t.Errorf("without the document: %+v", report.Counts)
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	raw, _, err = played(t, "export", "--data", data, "--policies", "testdata/policies", task)
	if err != nil || sound(t, raw).Counts.Policy != 1 {
		t.Errorf("from the folder, with the document: %v", err)
	}
}

// between is how many seconds lie between two instants.
func between(t *testing.T, from, to string) float64 {
	t.Helper()
	a, err := time.Parse(time.RFC3339, from)
	b, wrong := time.Parse(time.RFC3339, to)
	if err != nil || wrong != nil {
		t.Fatalf("%q and %q: %v, %v", from, to, err, wrong)
	}
	return b.Sub(a).Seconds()
}

// sound wants an export in which nothing is broken.
func sound(t *testing.T, raw string) export.Report {
	t.Helper()
	report, err := export.Verify(strings.NewReader(raw))
	if err != nil || !report.OK() {
		t.Fatalf("%v, %v\n%s", err, report.Violations, raw)
	}
	return report
}

// A policy without a document is an error at the start, which says what there is.
func TestUnknownPolicy(t *testing.T) {
	err := run(t.Context(), []string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--outside", "scan=gold@4", "--policies", "testdata/policies"}, io.Discard, io.Discard)
	if err == nil {
		t.Fatal("served")
	}
	has(t, err.Error(), `agent scan version 1: there is no policy "gold@4"`, "access-review@1, default@1, gold@3")
}
