package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// FuzzEvents: whatever payload a worker sends, with the right digest where the
// fuzzer's JSON is canonical, the door answers, never by a fault, and the task can be
// read afterwards (I1).
func FuzzEvents(f *testing.F) {
	for _, payload := range []string{
		`{"kind":"status","state":{"page":1},"text":"x"}`, `{"kind":"message","message":{"metadata":{"a":1},"parts":[{"data":{"a":[1,null]}},{"url":"http://x"}]}}`,
		`{"chunks":[{"append":true,"artifactId":"a","checksum":"` + strings.Repeat("0", 64) + `","lastChunk":true,"part":{"raw":"AA=="}}],"kind":"chunk"}`,
		`{"kind":"complete"}`, `{"kind":"fail","reason":"\ud800"}`, `{"kind":"cancel"}`, `{"kind":"claim","leaseSeconds":1e1}`, `{"kind":"release"}`, `{"kind":"renew"}`,
		`{"kind":"pause","pause":{"action":"x","for":"authorization","named":true,"outcome":"TASK_STATE_CANCELED","timeoutSeconds":5},"text":"?"}`, `null`, `[]`, `{"kind":null}`,
	} {
		f.Add(payload, 1, 1, "2026-03-02T09:00:00Z")
	}
	w := prepare(&testing.T{}, outside)
	w.config.Executions, w.config.Connections, w.config.Logger = nil, nil, nil
	h, err := api.New(w.config)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload string, seq, fence int, at string) {
		ref := lifecycle.Ref{Tenant: tenant, Task: a2a.NewTaskID()}
		cmd := lifecycle.Submit{ContextID: "c", Agent: "outer", AgentVersion: 1, Step: "outside", Message: says("x"), Policy: lifecycle.DefaultPolicy()}
		if _, err := w.authority.Create(context.Background(), ref, cmd, lifecycle.Source{Producer: "client"}, nil); err != nil {
			t.Fatal(err)
		}
		claim := lifecycle.Grant{Holder: "producer:w1", Generation: 1, Lease: lifecycle.DefaultLease, Grace: lifecycle.DefaultGrace}
		if _, err := w.authority.Take(context.Background(), ref, claim, lifecycle.Source{Producer: "producer:w1", EventID: "claim"}, ledger.Sent{}); err != nil {
			t.Fatal(err)
		}
		event := object{"eventId": "e", "producer": "w1", "sourceSequence": seq, "fence": fence, "observedAt": at}
		for name, zero := range map[string]bool{"sourceSequence": seq == 0, "fence": fence == 0} {
			if zero {
				delete(event, name)
			}
		}
		sum := sha256.Sum256([]byte(payload))
		event["payloadDigest"] = hex.EncodeToString(sum[:])
		if event["payload"] = json.RawMessage(payload); !json.Valid([]byte(payload)) {
			event["payload"] = payload
		}
		body, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tasks/"+string(ref.Task)+"/events", strings.NewReader(string(body)))
			a := httptest.NewRecorder()
			h.ServeHTTP(a, r)
			sound(t, r, a)
		}
		entries, err := w.ledger.Entries(t.Context(), ref, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lifecycle.Fold(ref, entries); err != nil {
			t.Errorf("I1: %v", err)
		}
	})
}
