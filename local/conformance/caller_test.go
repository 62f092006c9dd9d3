package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// The tests of this file's helpers speak to the real node over real sockets, in
// bytes: nothing of ours reads what is sent, so nothing can hide how it is spelled.

type object = map[string]any

// served starts the node with the agents and returns a caller for each binding.
func served(t *testing.T, agents ...*agent.Agent) (rpc, rest caller) {
	t.Helper()
	s, err := start(t.Context(), "127.0.0.1:0", t.TempDir(), t.Output(), agents...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return caller{t, s.url, true}, caller{t, s.url, false}
}

// caller speaks one binding.
type caller struct {
	t   *testing.T
	url string
	rpc bool
}

// reply is an answer without its envelope.
type reply struct {
	status int
	result any
	fault  object
}

// addresses are the operations of HTTP+JSON (§5.3).
var addresses = map[string]string{
	"SendMessage":          "POST /message:send",
	"SendStreamingMessage": "POST /message:stream",
	"GetTask":              "GET /tasks/{id}",
	"ListTasks":            "GET /tasks",
	"CancelTask":           "POST /tasks/{id}:cancel",
	"SubscribeToTask":      "POST /tasks/{id}:subscribe",
}

func (c caller) request(operation string, params object) *http.Request {
	c.t.Helper()
	method, target := http.MethodPost, "/rpc"
	body := any(object{"jsonrpc": "2.0", "id": 1, "method": operation, "params": params})
	if !c.rpc {
		id, _ := params["id"].(string)
		method, target, _ = strings.Cut(strings.Replace(addresses[operation], "{id}", id, 1), " ")
		body = params
	}
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	if method == http.MethodGet {
		query := url.Values{}
		for name, v := range params {
			if name != "id" {
				value, _ := json.Marshal(v)
				query.Set(name, strings.Trim(string(value), `"`))
			}
		}
		target, text = target+"?"+query.Encode(), nil
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+target, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (c caller) send(r *http.Request) (int, []byte) {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, text
}

func (c caller) call(operation string, params object) reply {
	c.t.Helper()
	status, text := c.send(c.request(operation, params))
	return c.open(status, text)
}

// open takes an answer or an event out of its envelope.
func (c caller) open(status int, text []byte) reply {
	c.t.Helper()
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	out := reply{status: status, result: doc}
	if c.rpc {
		out.result = doc["result"]
	}
	out.fault, _ = doc["error"].(object)
	return out
}

// ok is the result of a call that succeeds.
func (c caller) ok(operation string, params object) object {
	c.t.Helper()
	r := c.call(operation, params)
	result, _ := r.result.(object)
	if r.fault != nil || r.status != http.StatusOK || result == nil {
		c.t.Fatalf("%s: %d %v", operation, r.status, r.fault)
	}
	return result
}

// stream is what a streaming call sends until it closes.
func (c caller) stream(operation string, params object) []object {
	c.t.Helper()
	_, text := c.send(c.request(operation, params))
	var events []object
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			result, _ := c.open(http.StatusOK, []byte(data)).result.(object)
			events = append(events, result)
		}
	}
	if len(events) == 0 {
		c.t.Fatalf("%s: %s", operation, text)
	}
	return events
}

// message is the parameters of a send.
func message(id string, more ...string) object {
	m := object{"messageId": id, "role": "ROLE_USER", "parts": []any{object{"text": "TCK"}}}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return object{"message": m}
}

// at walks into a document; what is not there is nil.
func at(v any, path ...string) any {
	for _, name := range path {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// quick are the scenes without the one that takes seconds.
func quick() []scene {
	return slices.DeleteFunc(scenes(), func(s scene) bool { return s.prefix == "test-resubscribe-message-id" })
}
