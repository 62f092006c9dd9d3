package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
)

// door is a handler that waits for nothing, so that a fuzzer gets on.
func door(f *testing.F) http.Handler {
	f.Helper()
	w := prepare(&testing.T{}, func(w *world) {
		w.config.WaitBudget, w.config.CancelWait, w.config.StreamLimit = time.Nanosecond, time.Nanosecond, time.Nanosecond
	})
	w.config.Executions, w.config.Connections, w.config.Logger = nil, nil, nil
	h, err := api.New(w.config)
	if err != nil {
		f.Fatal(err)
	}
	return h
}

// sound checks what holds for every answer: no fault, and JSON where it says so.
func sound(t *testing.T, r *http.Request, a *httptest.ResponseRecorder) {
	t.Helper()
	if a.Code >= 500 && a.Code != http.StatusNotImplemented || strings.Contains(a.Body.String(), "-32603") {
		t.Errorf("%s %s: %d %.500s", r.Method, r.URL, a.Code, a.Body)
	}
	if strings.Contains(a.Header().Get("Content-Type"), "json") && a.Body.Len() > 0 && !json.Valid(a.Body.Bytes()) {
		t.Errorf("%s %s: not JSON: %.500s", r.Method, r.URL, a.Body)
	}
}

// FuzzRPC: whatever is posted, the door answers, and never by a fault.
func FuzzRPC(f *testing.F) {
	for _, method := range []string{"SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask", "GetExtendedAgentCard", "x"} {
		for _, params := range []string{
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"raw":"AA=="},{"data":{"a":[1,null]}},{"url":"http://x"}],"metadata":{"a":1}},"configuration":{"historyLength":1,"returnImmediately":true}}`,
			`{"id":"x","historyLength":0}`, `{"pageSize":2,"pageToken":"eyJhIjoiMjAyNi0wMy0wMVQxMDowMDowMFoiLCJ0IjoieCJ9","status":"TASK_STATE_WORKING","statusTimestampAfter":"2026-03-01T10:00:00Z"}`,
			`{"metadata":{"urn:holdfast:a2a:durable-task:v1":{"after":"1","pause":2,"submissionKey":"k"}}}`, `null`, `[1,{"a":"\ud800"}]`,
		} {
			f.Add(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "1.0", "")
		}
	}
	f.Add("", "", "")
	h := door(f)
	f.Fuzz(func(t *testing.T, body, version, cursor string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc", strings.NewReader(body))
		r.Header.Set("A2a-Version", version)
		r.Header.Set("Last-Event-ID", cursor)
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		sound(t, r, a)
	})
}

// FuzzREST: the same for addresses, queries and bodies of HTTP+JSON.
func FuzzREST(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`},
		{"POST", "/keyed/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"tenant":"keyed"}`},
		{"GET", "/tasks?pageSize=1&status=TASK_STATE_WORKING&includeArtifacts=true&historyLength=3", ""},
		{"GET", "/tasks/x:subscribe?historyLength=1", ""}, {"POST", "/tasks/x:cancel", "{}"}, {"GET", "/tasks/x/ledger?after=1&limit=2", ""},
		{"GET", "/tasks/x/blobs/0123", ""}, {"DELETE", "/tasks/x/pushNotificationConfigs/y", ""}, {"HEAD", "/.well-known/agent-card.json", ""}, {"GET", "/%2f/%zz", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	h := door(f)
	f.Fuzz(func(t *testing.T, method, target, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://x/"+strings.TrimPrefix(target, "/"), strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("A2a-Version", "1.0")
		a := httptest.NewRecorder()
		h.ServeHTTP(a, r)
		sound(t, r, a)
	})
}
