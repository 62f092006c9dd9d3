package dynamo

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// Who asks for many things at once uses its connections again.
func TestConnectionsAreKept(t *testing.T) {
	const beside, rounds = 32, 4
	var opened atomic.Int32
	var together sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		together.Done()
		together.Wait() // all of a round are asked for at once
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := NewHTTPClient()
	for range rounds {
		together.Add(beside)
		var round sync.WaitGroup
		for range beside {
			round.Go(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_ = answer.Body.Close()
			})
		}
		round.Wait()
	}
	// One that is not yet back when the next round begins is replaced.
	if n := opened.Load(); n >= 2*beside {
		t.Errorf("%d connections for %d rounds of %d requests", n, rounds, beside)
	}
}
