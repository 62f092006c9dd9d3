package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what should come at once.
const patience = 30 * time.Second

// client speaks one of the two bindings.
type client struct {
	t    testing.TB
	base string // of the agent
	http *http.Client
	rpc  bool
	head http.Header
}

// both runs a test over each binding, each in a world of its own.
func both(t *testing.T, change []func(*world), test func(w *world, c client)) {
	t.Helper()
	for _, rpc := range []bool{true, false} {
		name := "HTTP+JSON"
		if rpc {
			name = "JSON-RPC"
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change...)
			test(w, w.client(t, rpc))
		})
	}
}

func (w *world) client(t testing.TB, rpc bool) client {
	t.Helper()
	return client{t: t, base: w.server.URL, http: w.server.Client(), rpc: rpc, head: http.Header{"A2a-Version": {"1.0"}}}
}

// with is the client with one more header.
func (c client) with(name, value string) client {
	c.head = c.head.Clone()
	c.head.Set(name, value)
	return c
}

// at is the client of another agent.
func (c client) at(agent string) client {
	c.base += "/" + agent
	return c
}

// problem is an error as a binding shows it.
type problem struct {
	code    int // JSON-RPC code, or HTTP status
	status  string
	message string
	reason  string
	domain  string
	meta    object
	fields  []string
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	result object
	err    *problem
}

// request makes the HTTP request of an operation.
func (c client) request(ctx context.Context, operation string, params object) *http.Request {
	c.t.Helper()
	if c.rpc {
		body, err := json.Marshal(object{"jsonrpc": "2.0", "id": "r-1", "method": operation, "params": params})
		if err != nil {
			c.t.Fatal(err)
		}
		return c.raw(ctx, http.MethodPost, "/rpc", string(body))
	}
	rest := with(params, object{})
	id := url.PathEscape(fmt.Sprint(rest["id"]))
	delete(rest, "id")
	method, path := http.MethodPost, "/"+operation
	if strings.Contains(operation, "PushNotificationConfig") {
		return c.webhookRequest(ctx, operation, params)
	}
	switch operation {
	case "SendMessage":
		path = "/message:send"
	case "SendStreamingMessage":
		path = "/message:stream"
	case "CancelTask":
		path = "/tasks/" + id + ":cancel"
	case "SubscribeToTask":
		path = "/tasks/" + id + ":subscribe"
	case "GetTask":
		method, path = http.MethodGet, "/tasks/"+id
	case "ListTasks":
		method, path = http.MethodGet, "/tasks"
	case "GetExtendedAgentCard":
		method, path = http.MethodGet, "/extendedAgentCard"
	}
	if method == http.MethodPost {
		body, err := json.Marshal(rest)
		if err != nil {
			c.t.Fatal(err)
		}
		return c.raw(ctx, method, path, string(body))
	}
	query := url.Values{}
	for k, v := range rest {
		query.Set(k, fmt.Sprint(v))
	}
	return c.raw(ctx, method, path+"?"+query.Encode(), "")
}

func (c client) raw(ctx context.Context, method, path, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = c.head.Clone()
	if r.Header.Get("Content-Type") == "" && body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// call runs an operation.
func (c client) call(operation string, params object) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	return c.send(c.request(ctx, operation, params))
}

func (c client) send(r *http.Request) answer {
	c.t.Helper()
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.read(resp)
}

func (c client) read(resp *http.Response) answer {
	c.t.Helper()
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: raw}
	if !strings.Contains(resp.Header.Get("Content-Type"), "json") || len(raw) == 0 {
		return a
	}
	var body object
	if err := json.Unmarshal(raw, &body); err != nil {
		c.t.Fatalf("%s %.300s: %v", resp.Status, raw, err)
	}
	a.result = body
	if _, ok := body["jsonrpc"]; ok {
		a.result, _ = body["result"].(object)
	}
	if e, ok := body["error"].(object); ok {
		a.err = problemOf(e)
	}
	return a
}

func problemOf(e object) *problem {
	code, _ := e["code"].(float64)
	p := &problem{code: int(code), status: text(e, "status"), message: text(e, "message")}
	details, _ := e["details"].([]any)
	if data, ok := e["data"].([]any); ok {
		details = data
	}
	for _, d := range details {
		switch text(d, "@type") {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			p.reason, p.domain = text(d, "reason"), text(d, "domain")
			p.meta, _ = dig(d, "metadata").(object)
		case "type.googleapis.com/google.rpc.BadRequest":
			list, _ := dig(d, "fieldViolations").([]any)
			for _, v := range list {
				p.fields = append(p.fields, text(v, "field"))
			}
		}
	}
	return p
}

// ok is call for what must succeed.
func (c client) ok(operation string, params object) object {
	c.t.Helper()
	a := c.call(operation, params)
	if a.err != nil || a.status != http.StatusOK {
		c.t.Fatalf("%s: status %d: %.300s", operation, a.status, a.raw)
	}
	return a.result
}

// refused is call for what must fail with a reason.
func (c client) refused(operation string, params object, reason string) *problem {
	c.t.Helper()
	a := c.call(operation, params)
	if a.err == nil || a.err.reason != reason {
		c.t.Fatalf("%s: status %d: %.300s, want the reason %s", operation, a.status, a.raw, reason)
	}
	return a.err
}

// submit sends a message without waiting and gives the task's ID.
func (c client) submit(m object) string {
	c.t.Helper()
	return text(c.ok("SendMessage", immediately(m)), "task.id")
}

// event is one SSE event; a comment has only that.
type event struct {
	id      string
	body    object // the StreamResponse
	line    string // its data as it came
	comment string
}

func (e event) state() string {
	if s := text(e.body, "statusUpdate.status.state"); s != "" {
		return s
	}
	return text(e.body, "task.status.state")
}

// update is the body of the update, whichever it is.
func (e event) update() any {
	if u := e.body["statusUpdate"]; u != nil {
		return u
	}
	return e.body["artifactUpdate"]
}

// stream is an open SSE stream.
type stream struct {
	t      testing.TB
	lines  *bufio.Reader
	cancel context.CancelFunc
	body   io.ReadCloser
	header http.Header
}

// open opens a stream, which must succeed.
func (c client) open(operation string, params object) *stream {
	c.t.Helper()
	return c.openWithin(patience, operation, params)
}

func (c client) openWithin(limit time.Duration, operation string, params object) *stream {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	resp, err := c.http.Do(c.request(ctx, operation, params))
	if err != nil {
		cancel()
		c.t.Fatal(err)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		cancel()
		c.t.Fatalf("%s: %s: %s", operation, kind, c.read(resp).raw)
	}
	s := &stream{t: c.t, lines: bufio.NewReader(resp.Body), cancel: cancel, body: resp.Body, header: resp.Header}
	c.t.Cleanup(s.cut)
	return s
}

// cut drops the connection.
func (s *stream) cut() {
	s.cancel()
	_ = s.body.Close()
}

// next reads one event; false at the clean end of the stream.
func (s *stream) next() (event, bool) {
	s.t.Helper()
	var e event
	for {
		line, err := s.lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return e, false
		}
		if err != nil {
			s.t.Fatalf("the stream broke: %v", err)
		}
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(": "))
		switch string(name) {
		case "id":
			e.id = string(value)
		case "data":
			e.line = string(value)
			if err := json.Unmarshal(value, &e.body); err != nil {
				s.t.Fatalf("%s: %v", value, err)
			}
			if result, ok := e.body["result"].(object); ok {
				e.body = result
			}
		case "":
			if len(value) > 0 {
				e.comment = string(value)
			} else if e.body != nil || e.comment != "" {
				return e, true
			}
		}
	}
}

// must reads an event that must come.
func (s *stream) must() event {
	s.t.Helper()
	e, ok := s.next()
	if !ok {
		s.t.Fatal("the stream ended")
	}
	return e
}

// rest reads up to the clean end.
func (s *stream) rest() []event {
	s.t.Helper()
	var list []event
	for {
		e, ok := s.next()
		if !ok {
			return list
		}
		list = append(list, e)
	}
}
