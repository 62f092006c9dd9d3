package webhook_test

import (
	"compress/gzip"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// secured is a receiver behind TLS, and a client of a guard that trusts it and knows it as
// receiver.example.
func secured(t *testing.T, http2 bool, handler http.HandlerFunc) (*httptest.Server, *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	client := webhook.Guard{Allow: loopback}.Client()
	transport, _ := client.Transport.(*http.Transport)
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	transport.TLSClientConfig.RootCAs, transport.TLSClientConfig.NextProtos = pool, nil
	return server, client
}

// Each request has a connection of its own, over HTTP/2 as well: nothing of one tenant's
// (a connection, a session, a cookie) is there when another's is sent to the same host.
func TestNothingIsShared(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			connections, resumed, requests := map[string]bool{}, 0, 0
			server, client := secured(t, http2, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				requests++
				connections[r.RemoteAddr] = true
				if r.TLS.DidResume {
					resumed++
				}
				if r.Proto != name || r.Header.Get("Cookie") != "" || r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("%s, headers %v", r.Proto, r.Header)
				}
				http.SetCookie(w, &http.Cookie{Name: "who", Value: planted})
			})
			w := newWorld(t)
			s := w.sender()
			s.Client = client
			w.commit("vvF")
			for _, id := range []string{"one", "two"} {
				at := w.endpoint(id, nil)
				if err := w.ledger.PutEndpoint(t.Context(), at.Ref, ledger.Endpoint{ID: id, URL: server.URL}); err != nil {
					t.Fatal(err)
				}
				if res, err := s.Send(t.Context(), at, time.Minute); err != nil || res.Sent != 3 {
					t.Fatalf("%+v, %v: %+v", res, err, w.delivery(at))
				}
			}
			if requests != 6 || len(connections) != 6 || resumed != 0 {
				t.Errorf("%d requests over %d connections, %d resumed", requests, len(connections), resumed)
			}
		})
	}
}

// Answers that are meant to keep us busy: one that drips, one that unpacks to gigabytes, a
// trickle of headers, interim answers without end. None takes longer than the attempt, nor
// more memory than a page.
func TestAnswersThatKeepBusy(t *testing.T) {
	server := listen(t, func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		switch r.URL.Path {
		case "/drip":
			for {
				if _, err := w.Write([]byte(".")); err != nil || out.Flush() != nil {
					return
				}
				select {
				case <-r.Context().Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_ = out.Flush() // the answer is in time, however long its body takes
			z := gzip.NewWriter(w)
			for range 1 << 10 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/trickle":
			c, _, err := out.Hijack()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			_, err = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
			for err == nil {
				_, err = c.Write([]byte("a: b\r\n"))
				<-time.After(time.Millisecond)
			}
		case "/interim":
			c, _, err := out.Hijack()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			for err == nil {
				_, err = c.Write([]byte("HTTP/1.1 103 Early Hints\r\nLink: <" + strings.Repeat("x", 500) + ">\r\n\r\n"))
			}
		case "/switch":
			c, _, err := out.Hijack()
			if err == nil {
				_, _ = c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shell\r\n\r\n"))
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
		}
	})
	for path, want := range map[string]struct {
		failed bool
		cause  []string
	}{
		"/drip": {false, []string{""}}, "/bomb": {false, []string{""}}, "/trickle": {true, []string{"timeout", "connection"}},
		"/interim": {true, []string{"timeout", "connection"}}, "/switch": {true, []string{"status"}},
	} {
		t.Run(path[1:], func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", nil)
			if err := w.ledger.PutEndpoint(t.Context(), at.Ref, ledger.Endpoint{ID: at.ID, URL: server.URL + path}); err != nil {
				t.Fatal(err)
			}
			s := w.sender()
			s.Client = webhook.Guard{Allow: loopback, AllowHTTP: true}.Client()
			w.commit("F")
			res, err := s.Send(t.Context(), at, time.Millisecond) // one attempt, of minBudget
			if err != nil || res.Failed != want.failed {
				t.Fatalf("%+v, %v", res, err)
			}
			a := w.delivery(at).Attempts[0]
			found := false
			for _, cause := range want.cause {
				found = found || a.Error == cause
			}
			if !found {
				t.Errorf("%+v, want one of %q", a, want.cause)
			}
		})
	}
}

// A proxy of the environment is not asked: it would see what is sent, and go where the
// guard does not let us (case 55).
func TestNoProxy(t *testing.T) {
	asked := make(chan string, 10)
	proxy := listen(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.RequestURI })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	client := webhook.Guard{Resolver: (&names{answers: [][]string{{"127.0.0.1"}}}).resolver(), AllowHTTP: true}.Client()
	for _, address := range []string{"http://receiver.example/", "https://receiver.example/", "http://169.254.169.254/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(r); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s answers", address)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}
}

// Whatever an address is written like, and whatever carries it, nothing inside is dialled
// (case 55). The oracle is the plain IPv4 address, or the byte patterns themselves.
func FuzzNothingInsideIsDialled(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "172.16.0.1", "192.168.1.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1"} {
		ip := netip.MustParseAddr(seed).As4()
		f.Add(binary.BigEndian.Uint32(ip[:]), uint8(0))
	}
	private := []netip.Prefix{}
	for text := range strings.FieldsSeq("0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4") {
		private = append(private, netip.MustParsePrefix(text))
	}
	f.Fuzz(func(t *testing.T, v4 uint32, form uint8) {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], v4)
		plain := netip.AddrFrom4(b)
		inside := false
		for _, p := range private {
			inside = inside || p.Contains(plain)
		}
		if !inside {
			return
		}
		hosts := []string{
			plain.String(),                               // as it is
			"[::ffff:" + plain.String() + "]",            // mapped (RFC 4291)
			"[::" + plain.String() + "]",                 // compatible
			"[64:ff9b::" + plain.String() + "]",          // NAT64 (RFC 6052)
			"[64:ff9b:1::" + plain.String() + "]",        // for local use (RFC 8215)
			"[64:ff9b:1:fffe::" + plain.String() + "]",   // the same, elsewhere in it
			"[::ffff:0:" + plain.String() + "]",          // translated (SIIT)
			sixToFour(b),                                 // 6to4
			"[2001:0:" + hex4(b) + "::1]",                // Teredo
			"[fe80::5efe:" + plain.String() + "%25eth0]", // ISATAP, link-local with a zone
		}
		host := hosts[int(form)%len(hosts)]
		guard := webhook.Guard{AllowHTTP: true}
		for _, port := range []string{"", ":443", ":80"} {
			if err := guard.CheckURL("https://" + host + port + "/"); err == nil {
				t.Errorf("https://%s%s/ passes", host, port)
			}
		}
		dialled, err := guard.Client().Transport.(*http.Transport).DialContext(t.Context(), "tcp", net.JoinHostPort(strings.Trim(strings.ReplaceAll(host, "%25", "%"), "[]"), "443"))
		if err == nil {
			_ = dialled.Close()
			t.Errorf("%s is dialled", host)
		}
	})
}

func hex4(b [4]byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for i, c := range b {
		if i == 2 {
			out.WriteByte(':')
		}
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

func sixToFour(b [4]byte) string { return "[2002:" + hex4(b) + "::1]" }
