package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// trap is a server on this machine, to which a receiver redirects. Nobody follows.
type trap struct {
	once sync.Once
	url  string
	err  error
	hits atomic.Int64
}

func (t *trap) open(ctx context.Context) error {
	t.once.Do(func() {
		var listener net.Listener
		if listener, t.err = driver.Listen(ctx); t.err != nil {
			return
		}
		t.url = "http://" + listener.Addr().String() + "/"
		server := &http.Server{ReadHeaderTimeout: requestTime, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.hits.Add(1) })}
		go func() { _ = server.Serve(listener) }() // as long as the driver runs
	})
	return t.err
}

// redirect answers with the trap's address.
func (t *trap) redirect(code int) fate {
	return func(w http.ResponseWriter, r *http.Request) (string, bool) {
		return status(code, "Location", t.url)(w, r)
	}
}

func (t *trap) sprung() int64 { return t.hits.Load() }
