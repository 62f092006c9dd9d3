package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// systems is the server of the systems under review, by its address.
type systems struct {
	*driver.Client

	url string
}

// counters is what the systems say that they did.
type counters struct {
	Revocations map[string]struct {
		Applied int `json:"applied"`
		Repeats int `json:"repeats"`
	} `json:"revocations"`
	Totals struct {
		Revokes   int `json:"revokes"`
		Applied   int `json:"applied"`
		Repeats   int `json:"repeats"`
		Conflicts int `json:"conflicts"`
	} `json:"totals"`
}

func (s systems) counters(ctx context.Context) (c counters, err error) {
	return c, s.Get(ctx, s.url+"/counters", &c)
}

// relay is the network between the product and the systems. It can keep back the
// answer to a revocation: the systems have done it then, and the product does not know.
type relay struct {
	url    string
	to     systems
	server *http.Server
	ended  chan struct{}

	mu    sync.Mutex
	seen  int          // revocations
	keeps map[int]bool // of which the answer is kept back
	kept  chan string  // which they were
}

func openRelay(ctx context.Context, to systems, product string) (*relay, error) {
	listener, err := listenBeside(ctx, product)
	if err != nil {
		return nil, err
	}
	r := &relay{
		url: "http://" + listener.Addr().String(), to: to, ended: make(chan struct{}),
		keeps: map[int]bool{}, kept: make(chan string, len(effectKills)),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: waitTime}
	go func() {
		defer close(r.ended)
		_ = r.server.Serve(listener) // until it is closed
	}()
	return r, nil
}

// listenBeside takes a port that is free and not the product's, which nobody has yet.
func listenBeside(ctx context.Context, product string) (net.Listener, error) {
	held, err := new(net.ListenConfig).Listen(ctx, "tcp", product)
	if err != nil {
		return nil, err
	}
	listener, err := driver.Listen(ctx)
	if err != nil {
		_ = held.Close()
		return nil, err
	}
	return listener, held.Close()
}

func (r *relay) close() {
	_ = r.server.Close()
	<-r.ended
}

// keepBack names the revocations, counted from now on, whose answers are kept back.
func (r *relay) keepBack(numbers []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = 0
	for _, n := range numbers {
		r.keeps[n] = true
	}
}

// ServeHTTP implements http.Handler.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// What has left the product arrives, whether or not the product still waits.
	ctx := context.WithoutCancel(req.Context())
	forward, err := http.NewRequestWithContext(ctx, req.Method, r.to.url+req.URL.RequestURI(), req.Body) //nolint:gosec // to the systems, whatever the path
	if err != nil {
		http.Error(w, "no such request", http.StatusBadRequest)
		return
	}
	forward.ContentLength = req.ContentLength
	maps.Copy(forward.Header, req.Header)
	resp, err := r.to.HTTP.Do(forward) //nolint:gosec // as above
	if err != nil {
		http.Error(w, "the systems do not answer", http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/revocations") && r.keepsBack() {
		r.kept <- req.Header.Get("Idempotency-Key")
		<-req.Context().Done()
		return
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // whoever has gone away gets nothing
}

// keepsBack counts a revocation, and says whether its answer is kept back.
func (r *relay) keepsBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	return r.keeps[r.seen]
}

// keeping waits until an answer is kept back, and gives the revocation's key.
func (r *relay) keeping(ctx context.Context) (string, error) {
	wait := time.NewTimer(waitTime)
	defer wait.Stop()
	select {
	case key := <-r.kept:
		return key, nil
	case <-wait.C:
		return "", fmt.Errorf("no revocation's answer was kept back within %s", waitTime)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
