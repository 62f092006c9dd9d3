package driver_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func TestAnswer(t *testing.T) {
	refused := driver.Answer{Status: 409, Body: []byte(`{"error":{"message":"No.","details":[{"x":1},{"reason":"FENCE_LOST"}]}}`)}
	for want, a := range map[string]driver.Answer{
		"200":                 {Status: 200, Body: []byte(`{"task":{}}`)},
		"409 FENCE_LOST: No.": refused,
		"404: no":             {Status: 404, Body: []byte(`{"error":{"message":"no"}}`)},
		`502 "<html>"`:        {Status: 502, Body: []byte(`<html>`)},
	} {
		if a.String() != want {
			t.Errorf("got %q, want %q", a, want)
		}
	}
	for want, err := range map[string]error{
		"":                              refused.RefusedFor("it", "FENCE_LOST"),
		"it: 409 FENCE_LOST: No., want": refused.RefusedFor("it", "POST_TERMINAL"),
		"it: 200, want":                 driver.Answer{Status: 200}.RefusedFor("it", "FENCE_LOST"),
		`it: 502 "no JSON", want`:       driver.Answer{Status: 502, Body: []byte("no JSON")}.RefusedFor("it", "FENCE_LOST"),
		"it: 404: no, want it refused":  driver.Answer{Status: 404, Body: []byte(`{"error":{"message":"no"}}`)}.RefusedFor("it", "X"),
		"409 FENCE_LOST: No.":           refused.Decode(&struct{}{}),
		"invalid character 'x' looking": driver.Answer{Status: 200, Body: []byte("x")}.Decode(&struct{}{}),
		"unexpected end of JSON input":  driver.Answer{Status: 200}.Decode(&struct{}{}),
	} {
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSent(t *testing.T) {
	type task struct{ ID, More string }
	if got, err := driver.Sent[task](driver.Answer{Status: 200, Body: []byte(`{"task":{"id":"t","more":"x"}}`)}); err != nil || got != (task{"t", "x"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, a := range []driver.Answer{{Status: 400, Body: []byte(`{"task":{"id":"t"}}`)}, {Status: 200, Body: []byte(`{"message":{}}`)}, {Status: 200, Body: []byte(`{"task":{}}`)}, {Status: 200, Body: []byte(`x`)}} {
		if got, err := driver.Sent[task](a); err == nil {
			t.Errorf("%s is the task %+v", a, got)
		}
	}
}

func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `["`+strings.Join([]string{r.Method, r.Header.Get("A2A-Version"), r.Header.Get("Content-Type"), strings.ReplaceAll(string(body), `"`, "'")}, " ")+`"]`)
	}))
	defer server.Close()
	c := driver.NewClient(0)
	var got []string
	for want, body := range map[string]any{
		`PUT 1.0  `:                              nil,
		`PUT 1.0 application/json {'a':1,'b':2}`: driver.Object{"b": 2, "a": 1},
		`PUT 1.0 application/json raw`:           []byte("raw"),
	} {
		if err := c.AskFor(t.Context(), http.MethodPut, server.URL, body, &got); err != nil || got[0] != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if err := c.Get(t.Context(), server.URL+"/missing", &got); err == nil || !strings.Contains(err.Error(), "GET "+server.URL+"/missing: 404") {
		t.Errorf("got %v", err)
	}
	if n := c.Requests.Load(); n != 4 {
		t.Errorf("%d requests were counted", n)
	}
	if err := c.AskFor(t.Context(), http.MethodPut, server.URL, func() {}, &got); err == nil {
		t.Error("a body that is no JSON was sent")
	}
}

// whole is a frame as it stands.
func whole(id, data string) (string, error) {
	if data == "bad" {
		return "", errors.New("bad")
	}
	return id + "=" + data, nil
}

func TestStream(t *testing.T) {
	body := "data: task\n\n: keep-alive\n\nid: 5\ndata: a\n\nid: 7\r\ndata: b\r\ndata: c\r\n\r\nevent: x\nid: 8\ndata: d\n\nid: 9\ndata: cut before its end\n"
	s := driver.Recorded(strings.NewReader(body), whole)
	if want := []string{"=task", "5=a", "7=bc", "8=d"}; s.Err != nil || !s.Ended() || !slices.Equal(s.Kept(), want) {
		t.Errorf("kept %q, %v", s.Kept(), s.Err)
	}
	if s := driver.Recorded(strings.NewReader("data: a\n\ndata: bad\n\ndata: b\n\n"), whole); s.Err == nil || len(s.Kept()) != 1 {
		t.Errorf("kept %q, %v", s.Kept(), s.Err)
	}
}

func TestFollow(t *testing.T) {
	next := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+r.Header.Get("Accept")+r.Header.Get("Last-Event-Id")+"\n\n")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case data, more := <-next:
				if !more {
					return
				}
				_, _ = io.WriteString(w, "data: "+data+"\n\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	c := driver.NewClient(0)
	follow := func(path string) (*driver.Stream[string], error) {
		return driver.Follow(t.Context(), c, server.URL+path, nil, map[string]string{"Last-Event-ID": "4"}, whole)
	}
	has := func(s *driver.Stream[string], n int) {
		t.Helper()
		if err := driver.Until(t.Context(), driver.Wait{What: "frames came", Limit: patience}, func(context.Context) (bool, error) { return len(s.Kept()) == n, nil }); err != nil {
			t.Fatal(err)
		}
	}
	s, err := follow("/")
	if err != nil {
		t.Fatal(err)
	}
	next <- "one"
	has(s, 2)
	if got := s.Kept(); got[0] != "=text/event-stream4" || got[1] != "=one" || s.Ended() {
		t.Errorf("kept %q", got)
	}
	s.Cut()
	if !s.Ended() || s.Err == nil {
		t.Errorf("a stream that was cut ended with %v", s.Err)
	}
	if s, err = follow("/"); err != nil {
		t.Fatal(err)
	}
	has(s, 1)
	close(next)
	<-s.Done
	if s.Err != nil {
		t.Errorf("a stream that the server ended: %v", s.Err)
	}
	if _, err := follow("/missing"); err == nil || !strings.Contains(err.Error(), "subscribing: 404: no") {
		t.Errorf("got %v", err)
	}
	server.Close()
	if _, err := follow("/"); err == nil {
		t.Error("a stream of nobody")
	}
}

func TestMainsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{{nil, 0}, {flag.ErrHelp, 0}, {errors.New("no"), 1}} {
		if got := driver.Main("x", func(context.Context, []string, io.Writer) error { return c.err }); got != c.want {
			t.Errorf("%v: exit code %d", c.err, got)
		}
	}
	if got := driver.OneLine(errors.Join(errors.New("a"), errors.New("b\r\nc"))); got != "a; b; c" {
		t.Errorf("got %q", got)
	}
}
