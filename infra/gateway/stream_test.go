package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

// TestFramesArriveUnbuffered: frame k is read by the caller before frame k+1 exists.
// The probe fetches each frame from this test, which hands it out only when the
// caller has the one before.
func TestFramesArriveUnbuffered(t *testing.T) {
	const frames = 20
	w := serve(t, nil)
	received := make(chan int, frames+1)
	received <- 0
	source := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("frame"))
		select {
		case last := <-received:
			if last != n-1 {
				t.Errorf("frame %d was made when the caller had %d", n, last)
			}
		case <-r.Context().Done():
			return
		}
		if n <= frames {
			_, _ = io.WriteString(out, strconv.Itoa(n))
		}
	}))
	defer source.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/frames?source="+url.QueryEscape(source.URL), nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	got := 0
	for lines.Scan() {
		if word, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			got++
			if word != strconv.Itoa(got) {
				t.Fatalf("frame %d is %q", got, word)
			}
			received <- got
		}
	}
	if got != frames || lines.Err() != nil {
		t.Fatalf("got %d frames of %d, then %v", got, frames, lines.Err())
	}
}

// TestStreamEndsBeforeTheInvocation: at the deadline less the reserve the request's
// context ends, and what the handler still says arrives.
func TestStreamEndsBeforeTheInvocation(t *testing.T) {
	w := serve(t, func(c *lambdahost.Config, f *lambdahost.Front) {
		c.Env = []string{"PROBE_RESERVE=19500ms"}
		f.Timeout = 20 * time.Second
	})
	start := time.Now()
	resp, got := w.do(t, http.MethodGet, "/until", nil, nil)
	if resp.StatusCode != http.StatusOK || string(got) != "begun\nended\n" {
		t.Fatalf("got %s %q", resp.Status, got)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("the stream ended after %s, near the invocation's end", took)
	}
	if len(w.function.Inits()) != 1 {
		t.Errorf("%d processes were needed", len(w.function.Inits()))
	}
}

// TestReserveLongerThanTheInvocation leaves a short function usable.
func TestReserveLongerThanTheInvocation(t *testing.T) {
	w := serve(t, func(c *lambdahost.Config, _ *lambdahost.Front) { c.Env = []string{"PROBE_RESERVE=1h"} })
	if s := w.echo(t, http.MethodGet, "/echo/a", nil, nil); s.Path != "/echo/a" {
		t.Fatalf("got %+v", s)
	}
}

// TestCallerGone: nobody tells the function. It writes on until its reserve begins,
// and meanwhile other callers are served by other processes.
func TestCallerGone(t *testing.T) {
	w := serve(t, func(c *lambdahost.Config, f *lambdahost.Front) {
		c.Env = []string{"PROBE_RESERVE=19s"}
		f.Timeout = 20 * time.Second
	})
	ctx, leave := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/until", nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	leave()
	resp.Body.Close()
	w.echo(t, http.MethodGet, "/echo/other", nil, nil)
	// The process of the lost stream becomes free again: with both processes asked at
	// once, neither is throttled.
	for deadline := time.Now().Add(patience); ; {
		first, err := w.function.Invoke(t.Context(), []byte(`{"httpMethod":"GET","path":"/echo/1"}`), time.Now().Add(patience))
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.function.Invoke(t.Context(), []byte(`{"httpMethod":"GET","path":"/echo/2"}`), time.Now().Add(patience))
		_, _ = io.Copy(io.Discard, first)
		if err == nil {
			_, _ = io.Copy(io.Discard, second)
			break
		}
		if !errors.Is(err, lambdahost.ErrThrottled) || time.Now().After(deadline) {
			t.Fatalf("the process of the lost stream did not come back: %v", err)
		}
	}
	if n := len(w.function.Inits()); n != 2 {
		t.Errorf("%d processes were started, want 2: the lost stream cost one", n)
	}
}

// TestPanics: a 500 for as long as nothing has left, an aborted answer afterwards, and
// the process lives on. What the panic held is in no log and no answer.
func TestPanics(t *testing.T) {
	w := serve(t, nil)
	resp, got := w.do(t, http.MethodGet, "/panic", nil, nil)
	if resp.StatusCode != http.StatusInternalServerError || string(got) != "Internal Server Error\n" {
		t.Errorf("before the answer: %s %q", resp.Status, got)
	}
	late, err := http.Get(w.url + "/panic-late")
	if err != nil {
		t.Fatal(err)
	}
	got, err = io.ReadAll(late.Body)
	late.Body.Close()
	if late.StatusCode != http.StatusOK || string(got) != "begun" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after its begin: %s %q, %v", late.Status, got, err)
	}
	w.echo(t, http.MethodGet, "/echo/x", nil, nil)
	if n := len(w.function.Inits()); n != 1 {
		t.Errorf("%d processes, want 1: a panic must not cost the process", n)
	}
	if logs := w.logs.String(); strings.Contains(logs, "the-secret") || strings.Count(logs, "handler panicked") != 2 {
		t.Errorf("logs: %s", logs)
	}
}

// TestAbortReachesTheInvoker: the error of the trailers, after every byte.
func TestAbortReachesTheInvoker(t *testing.T) {
	w := serve(t, nil)
	got, err := w.function.Call(t.Context(), []byte(`{"httpMethod":"GET","path":"/panic-late"}`), time.Now().Add(patience))
	failed, ok := errors.AsType[*lambdahost.FunctionError](err)
	if !strings.HasSuffix(string(got), "\x00\x00\x00\x00\x00\x00\x00\x00begun") || !ok || !strings.Contains(failed.Message, "aborted") {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestProcessDies: its caller sees a cut answer, the next one a new process.
func TestProcessDies(t *testing.T) {
	w := serve(t, nil)
	received := make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-received }))
	defer source.Close()
	resp, err := http.Get(w.url + "/exit?source=" + url.QueryEscape(source.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	begun := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, begun); err != nil || string(begun) != "begun" {
		t.Fatalf("got %q, %v", begun, err)
	}
	close(received)
	if rest, err := io.ReadAll(resp.Body); len(rest) != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", rest, err)
	}
	w.echo(t, http.MethodGet, "/echo/x", nil, nil)
	if n := len(w.function.Inits()); n != 2 {
		t.Errorf("%d processes, want 2", n)
	}
}

// TestNoProxyEvent: whatever else calls the function is told how to connect it.
func TestNoProxyEvent(t *testing.T) {
	w := serve(t, nil)
	_, err := w.function.Call(t.Context(), []byte(`{}`), time.Now().Add(patience))
	if failed, ok := errors.AsType[*lambdahost.FunctionError](err); !ok || !strings.Contains(failed.Message, "ANY /{proxy+}") {
		t.Errorf("got %v", err)
	}
}
