package integration_test

import (
	"net/http"
	"sync"
	"time"
)

// fresh takes other connections now and then. The server closes one at its 1,000th
// request, answered or not, and these tests call the ledger without the loop that asks
// again; a connection for each request, which it keeps half closed, makes it slow.
type fresh struct {
	mu   sync.Mutex
	now  *http.Transport
	left int
}

// RoundTrip implements http.RoundTripper.
func (f *fresh) RoundTrip(r *http.Request) (*http.Response, error) {
	return f.transport().RoundTrip(r)
}

func (f *fresh) transport() *http.Transport {
	const requests = 900
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		f.now, f.left = http.DefaultTransport.(*http.Transport).Clone(), requests
		f.now.MaxIdleConnsPerHost, f.now.IdleConnTimeout = 64, 5*time.Second
	}
	f.left--
	return f.now
}
