package gateway_test

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

func TestRequest(t *testing.T) {
	w := serve(t, nil)
	for _, c := range []struct {
		name, path, wantPath, wantEscaped, wantURI string
	}{
		{"colon", "/echo/tasks/0199-ab:cancel", "/echo/tasks/0199-ab:cancel", "/echo/tasks/0199-ab:cancel", "/echo/tasks/0199-ab:cancel"},
		{"escaped colon", "/echo/tasks/a%3Acancel", "/echo/tasks/a:cancel", "/echo/tasks/a%3Acancel", "/echo/tasks/a%3Acancel"},
		{"escaped slash", "/echo/a%2Fb", "/echo/a/b", "/echo/a%2Fb", "/echo/a%2Fb"},
		{"space and query", "/echo/a%20b?x=1+2&x=%26&y=", "/echo/a b", "/echo/a%20b", "/echo/a%20b?x=1+2&x=%26&y="},
		{"dots", "/echo/.well-known/agent-card.json", "/echo/.well-known/agent-card.json", "/echo/.well-known/agent-card.json", "/echo/.well-known/agent-card.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := w.echo(t, http.MethodGet, c.path, nil, nil)
			if s.Path != c.wantPath || s.Escaped != c.wantEscaped || s.URI != c.wantURI {
				t.Errorf("path %q, escaped %q, uri %q; want %q, %q, %q", s.Path, s.Escaped, s.URI, c.wantPath, c.wantEscaped, c.wantURI)
			}
		})
	}
	s := w.echo(t, http.MethodPost, "/echo/q?x=1&x=2&empty=", []byte("hällo"), http.Header{"X-Many": {"a", "b"}, "Content-Type": {"text/plain"}})
	if want := map[string][]string{"x": {"1", "2"}, "empty": {""}}; !reflect.DeepEqual(s.Query, want) {
		t.Errorf("query %v, want %v", s.Query, want)
	}
	if got := s.Header.Values("X-Many"); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("X-Many %q", got)
	}
	if string(s.Body) != "hällo" || s.Length != 6 || s.Method != http.MethodPost {
		t.Errorf("body %q of %d bytes by %s", s.Body, s.Length, s.Method)
	}
	if host := strings.TrimPrefix(w.url, "http://"); s.Host != host || s.Base != w.url || s.IP != "127.0.0.1" || s.Header.Get("Host") != "" {
		t.Errorf("host %q, base %q, ip %q, header Host %q", s.Host, s.Base, s.IP, s.Header.Get("Host"))
	}
}

// TestBinaryBodies: what is no text comes as base64, and with binaryMediaTypes */*
// everything does.
func TestBinaryBodies(t *testing.T) {
	noise := []byte{0, 1, 0xff, 0xfe, '\n', 0x80}
	for _, all := range []bool{false, true} {
		w := serve(t, func(_ *lambdahost.Config, f *lambdahost.Front) { f.Binary = all })
		for _, body := range [][]byte{noise, []byte(`{"a":1}`), nil} {
			if s := w.echo(t, http.MethodPost, "/echo/", body, nil); !bytes.Equal(s.Body, body) || s.Length != int64(len(body)) {
				t.Errorf("sent %q, got %q (%d bytes)", body, s.Body, s.Length)
			}
		}
	}
}

// TestSizes: 4 MiB arrive whole, in both encodings where they fit; beyond it the
// handler refuses; beyond 6 MB of event, or 10 MB, the function never sees it.
func TestSizes(t *testing.T) {
	const limit = 4 << 20
	for _, c := range []struct {
		name   string
		binary bool
		bytes  int
		status int
		body   string
	}{
		{"limit as text", false, limit, http.StatusOK, "4194304"},
		{"limit as base64", true, limit, http.StatusOK, "4194304"},
		{"one more", false, limit + 1, http.StatusRequestEntityTooLarge, "too large\n"},
		{"beyond Lambda", false, 6<<20 + 1, http.StatusRequestEntityTooLarge, "{\"message\":\"Request Too Long\"}\n"},
		{"beyond Lambda once encoded", true, 5 << 20, http.StatusRequestEntityTooLarge, "{\"message\":\"Request Too Long\"}\n"},
		{"beyond API Gateway", false, 10<<20 + 1, http.StatusRequestEntityTooLarge, "{\"message\":\"Request Too Long\"}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := serve(t, func(_ *lambdahost.Config, f *lambdahost.Front) { f.Binary = c.binary })
			resp, got := w.do(t, http.MethodPost, "/size", bytes.Repeat([]byte("x"), c.bytes), nil)
			if resp.StatusCode != c.status || string(got) != c.body {
				t.Errorf("got %s %q, want %d %q", resp.Status, got, c.status, c.body)
			}
		})
	}
}

// TestPrefixes: the handler's paths begin at the API's root, and its base address is
// the one that the caller used.
func TestPrefixes(t *testing.T) {
	for _, c := range []struct{ name, stage, mapping, before string }{
		{"custom domain", "", "", ""},
		{"default address", "prod", "", "/prod"},
		{"base path", "", "a2a", "/a2a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := serve(t, func(_ *lambdahost.Config, f *lambdahost.Front) { f.Stage, f.BasePath = c.stage, c.mapping })
			for _, path := range []string{"/echo/x:y", "/echo/a%20b", "/echo/x/"} {
				if s := w.echo(t, http.MethodGet, c.before+path, nil, nil); s.Escaped != path || s.Base != w.url+c.before {
					t.Errorf("%s: path %q, base %q", path, s.Escaped, s.Base)
				}
			}
			if resp, _ := w.do(t, http.MethodGet, c.before+"/", nil, nil); resp.StatusCode != http.StatusNotFound {
				t.Errorf("the root answered %s", resp.Status)
			}
			if c.before != "" {
				if resp, _ := w.do(t, http.MethodGet, "/echo/x", nil, nil); resp.StatusCode != http.StatusForbidden {
					t.Errorf("outside the API: %s", resp.Status)
				}
			}
		})
	}
}

// TestAnswerHeaders: many values stay many, the first status stands, what comes after
// it is too late, and the connection's own headers are dropped.
func TestAnswerHeaders(t *testing.T) {
	w := serve(t, nil)
	resp, got := w.do(t, http.MethodGet, "/headers", nil, nil)
	if resp.StatusCode != http.StatusAccepted || string(got) != "<html>" {
		t.Errorf("got %s %q", resp.Status, got)
	}
	h := resp.Header
	if !reflect.DeepEqual(h.Values("Set-Cookie"), []string{"a=1", "b=2"}) || !reflect.DeepEqual(h.Values("Vary"), []string{"Accept", "Origin"}) {
		t.Errorf("headers %v", h)
	}
	if h.Get("X-Late") != "" || h.Get("Connection") != "" || resp.ContentLength != -1 {
		t.Errorf("headers %v, length %d", h, resp.ContentLength)
	}
	if resp, got := w.do(t, http.MethodHead, "/headers", nil, nil); resp.StatusCode != http.StatusAccepted || len(got) != 0 {
		t.Errorf("HEAD: %s %q", resp.Status, got)
	}
	if resp, got := w.do(t, http.MethodGet, "/wide", nil, nil); resp.StatusCode != http.StatusInternalServerError || strings.Contains(string(got), "never") {
		t.Errorf("headers beyond 16 KB: %s %q", resp.Status, got)
	}
}
