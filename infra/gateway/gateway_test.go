package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/holdfast-a2a/holdfast/infra/gateway"
)

// call runs a handler in this process.
func call(t *testing.T, ctx context.Context, e events.APIGatewayProxyRequest, h http.HandlerFunc) *events.APIGatewayProxyStreamingResponse {
	t.Helper()
	r, err := gateway.Handler(h, gateway.Options{})(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestAddresses: whichever of the event's paths are encoded, and with or without what
// only API Gateway sends.
func TestAddresses(t *testing.T) {
	event := func(resource, path, full, proxy string) events.APIGatewayProxyRequest {
		e := events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet, Resource: resource, Path: path, Headers: map[string]string{"host": "h"}}
		e.RequestContext.Path = full
		if proxy != "" {
			e.PathParameters = map[string]string{"proxy": proxy}
		}
		return e
	}
	for _, c := range []struct {
		name       string
		e          events.APIGatewayProxyRequest
		path, base string
	}{
		{"all encoded", event("/{proxy+}", "/a%20b", "/prod/a%20b", "a%20b"), "/a%20b", "https://h/prod"},
		{"parameter decoded", event("/{proxy+}", "/a%20b", "/prod/a%20b", "a b"), "/a%20b", "https://h/prod"},
		{"all decoded", event("/{proxy+}", "/a b", "/prod/a b", "a b"), "/a%20b", "https://h/prod"},
		{"no valid encoding", event("/{proxy+}", "/100%", "/prod/100%", "100%"), "/100%25", "https://h/prod"},
		{"base path", event("/{proxy+}", "/v1/tasks/x:cancel", "/v1/tasks/x:cancel", "tasks/x:cancel"), "/tasks/x:cancel", "https://h/v1"},
		{"base path that repeats", event("/{proxy+}", "/a/a", "/a/a", "a"), "/a", "https://h/a"},
		{"trailing slash", event("/{proxy+}", "/v1/x/", "/v1/x/", "x"), "/x/", "https://h/v1"},
		{"root", event("/", "/", "/", ""), "/", "https://h"},
		{"root of a stage", event("/", "/", "/prod/", ""), "/", "https://h/prod"},
		{"root of a base path", event("/", "/v1", "/v1", ""), "/", "https://h/v1"},
		{"a resource above", event("/x/{proxy+}", "/x/y", "/prod/x/y", "y"), "/x/y", "https://h/prod"},
		{"bare event", event("", "/x", "", ""), "/x", "https://h"},
		{"no slash", event("", "x", "", ""), "/x", "https://h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := call(t, t.Context(), c.e, func(_ http.ResponseWriter, r *http.Request) {
				if got := r.URL.EscapedPath(); got != c.path || gateway.BaseURL(r) != c.base {
					t.Errorf("path %q, base %q; want %q, %q", got, gateway.BaseURL(r), c.path, c.base)
				}
			})
			_, _ = io.Copy(io.Discard, r)
		})
	}
	plain, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if got := gateway.BaseURL(plain); got != "" {
		t.Errorf("without a gateway the base is %q", got)
	}
}

func TestUnreadable(t *testing.T) {
	for name, e := range map[string]events.APIGatewayProxyRequest{
		"body":   {HTTPMethod: http.MethodPost, Body: "%", IsBase64Encoded: true},
		"method": {HTTPMethod: "no method"},
	} {
		r := call(t, t.Context(), e, func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the handler was called", name) })
		if got, _ := io.ReadAll(r); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %q", name, r.StatusCode, got)
		}
	}
	// The next request is served as if nothing had been.
	h := gateway.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), gateway.Options{})
	for i, e := range []events.APIGatewayProxyRequest{{HTTPMethod: "no method"}, {HTTPMethod: http.MethodGet}} {
		r, err := h(t.Context(), e)
		if err != nil || r.StatusCode != []int{http.StatusBadRequest, http.StatusNoContent}[i] {
			t.Errorf("request %d: %+v, %v", i, r, err)
		}
		_, _ = io.Copy(io.Discard, r)
	}
}

// TestBodyClosed: the runtime gave up; the handler's context ends and its next write
// fails.
func TestBodyClosed(t *testing.T) {
	failed := make(chan error)
	r := call(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet}, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, _ = io.WriteString(w, "x")
		failed <- http.NewResponseController(w).Flush()
	})
	_ = r.Close()
	if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// TestNobodyReads: a write that is not taken ends at the handler's own deadline, and
// at the latest half a reserve before the invocation.
func TestNobodyReads(t *testing.T) {
	for name, own := range map[string]time.Duration{"own deadline": time.Second, "the invocation's": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Minute))
				defer cancel()
				want, failed := time.Minute-gateway.DefaultReserve/2, make(chan error, 1)
				call(t, ctx, events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
					out := http.NewResponseController(w)
					if err := out.SetWriteDeadline(time.Time{}); err != nil {
						t.Error(err)
					}
					if own > 0 {
						want = own
						_ = out.SetWriteDeadline(start.Add(own))
					}
					_, _ = io.WriteString(w, "x")
					failed <- out.Flush()
				})
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != want {
					t.Errorf("after %s: %v, want %s", time.Since(start), err, want)
				}
			})
		})
	}
}

// TestReadsAreWhole: bytes and the error after them come apart, whatever the size of
// the reader's buffer.
func TestReadsAreWhole(t *testing.T) {
	r := call(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 9000))
		panic("x")
	})
	total, block := 0, make([]byte, 512)
	for {
		n, err := r.Body.Read(block)
		if n > 0 && err != nil {
			t.Fatalf("%d bytes and %v in one read", n, err)
		}
		if total += n; err != nil {
			if !errors.Is(err, gateway.ErrAborted) || total != 9000 {
				t.Errorf("%d bytes, then %v", total, err)
			}
			return
		}
	}
}

func TestNoBodyAllowed(t *testing.T) {
	r := call(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotModified)
		if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
			t.Errorf("got %v", err)
		}
	})
	if got, err := io.ReadAll(r); r.StatusCode != http.StatusNotModified || !strings.HasSuffix(string(got), "\x00") || err != nil {
		t.Errorf("%d %q, %v", r.StatusCode, got, err)
	}
}
