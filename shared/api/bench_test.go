package api_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/api"
)

// BenchmarkSend is the door's own share of a submission: reading, key, digest,
// commit to the model ledger, answer.
func BenchmarkSend(b *testing.B) {
	w := prepare(&testing.T{}, func(w *world) { w.config.Executions, w.config.Connections = nil, nil })
	h, err := api.New(w.config)
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-` + strconv.FormatInt(n.Add(1), 10) +
				`","role":"ROLE_USER","parts":[{"text":"Review the access of forty systems."}]},"configuration":{"returnImmediately":true}}}`
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/keyed/rpc", strings.NewReader(body))
			r.Header.Set("A2a-Version", "1.0")
			r.Header.Set("Content-Type", "application/json")
			a := httptest.NewRecorder()
			if h.ServeHTTP(a, r); a.Code != http.StatusOK {
				b.Error(a.Body)
			}
		}
	})
}
