package webhook_test

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

func listen(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// names is a server of names that answers in turns, without a network.
type names struct {
	mu      sync.Mutex
	answers [][]string // IPv4 addresses; none: there is no such name
	asked   int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(theirs)
		return ours, nil
	}}
}

// serve answers as RFC 1035, 4 has it, over what net takes for TCP.
func (n *names) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var length uint16
	if binary.Read(c, binary.BigEndian, &length) != nil {
		return
	}
	query := make([]byte, length)
	if _, err := io.ReadFull(c, query); err != nil {
		return
	}
	end := 12
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	end += 5 // the root, type and class
	var list []string
	n.mu.Lock()
	if kind := binary.BigEndian.Uint16(query[end-4:]); kind == 1 { // A; asked beside AAAA
		list = n.answers[min(n.asked, len(n.answers)-1)]
		n.asked++
	}
	none := len(n.answers[0]) == 0
	n.mu.Unlock()
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(len(list)), 0, 0, 0, 0}, query[12:end]...)
	if none {
		out[3] |= 3
	}
	for _, address := range list {
		ip := netip.MustParseAddr(address).As4()
		out = append(append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), ip[:]...)
	}
	_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
}

// What becomes of attempts over real connections, by class. No class names an address.
func TestCauses(t *testing.T) {
	var inner, megabytes atomic.Int32
	local := webhook.Guard{Allow: loopback, AllowHTTP: true}
	nowhere := webhook.Guard{Resolver: (&names{answers: [][]string{nil}}).resolver()}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	done := make(chan struct{})
	server := listen(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/inner", http.StatusFound)
		case "/moved-for-good":
			http.Redirect(w, r, "/inner", http.StatusPermanentRedirect)
		case "/inner":
			inner.Add(1)
		case "/reset":
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		case "/hang":
			select {
			case <-done:
			case <-r.Context().Done():
			}
		case "/endless":
			for w.Header().Set("Content-Type", "text/plain"); ; {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
				megabytes.Add(1)
			}
		case "/headers":
			w.Header().Set("Long", strings.Repeat("x", 1<<20))
		}
	})
	defer close(done)
	for _, c := range []struct {
		name, url, want string
		guard           webhook.Guard
	}{
		{"fine", server.URL + "/", "", local},
		{"an answer without end", server.URL + "/endless", "", local},
		{"headers without end", server.URL + "/headers", "connection", local},
		{"redirect", server.URL + "/moved", "redirect", local},
		{"permanent redirect", server.URL + "/moved-for-good", "redirect", local},
		{"reset", server.URL + "/reset", "connection", local},
		{"hang", server.URL + "/hang", "timeout", local},
		{"nobody", closed.URL, "refused", local},
		{"no such name", "https://nowhere.example/", "name", nowhere},
		{"a certificate of its own", secure.URL, "tls", local},
		{"inside", server.URL, "address", webhook.Guard{AllowHTTP: true}},
		{"not a URL", "https://exa mple/", "request", local},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", nil)
			if err := w.ledger.PutEndpoint(t.Context(), at.Ref, ledger.Endpoint{ID: at.ID, URL: c.url}); err != nil {
				t.Fatal(err)
			}
			s := w.sender()
			s.Client = c.guard.Client()
			w.commit("F")
			res, err := s.Send(t.Context(), at, time.Millisecond) // one attempt, of minBudget
			if err != nil || res.Failed != (c.want != "") {
				t.Fatalf("%+v, %v", res, err)
			}
			if a := w.delivery(at).Attempts[0]; a.Error != c.want {
				t.Errorf("%+v, want %q", a, c.want)
			}
			if logs := w.logs.String(); strings.Contains(logs, "127.0.0.1") || strings.Contains(logs, "nowhere") {
				t.Error(logs)
			}
		})
	}
	if n := megabytes.Load(); n > 32 { // what fits into the buffers of a connection
		t.Errorf("%d MB of an answer were taken", n)
	}
	if n := inner.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}
}
