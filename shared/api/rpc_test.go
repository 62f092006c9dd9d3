package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// §9: the JSON-RPC envelope.
func TestEnvelope(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, true)
	const params = `"params":{"id":"none"}`
	for _, tt := range []struct {
		body string
		code int
		id   string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask",` + params + `}`, -32001, `1`},
		{` {"id" : "a\"b" , "method":"GetTask", "jsonrpc":"2.0",` + params + `} `, -32001, `"a\"b"`},
		{`{"jsonrpc":"2.0","id":null,"method":"GetTask",` + params + `}`, -32001, `null`},
		{`{"jsonrpc":"2.0","id":-1.5e3,"method":"GetTask",` + params + `}`, -32001, `-1.5e3`},
		{`{"jsonrpc":"2.0","method":"GetTask",` + params + `}`, -32001, `null`},
		{`{"jsonrpc":"1.0","id":1,"method":"x","jsonrpc":"2.0","method":"GetTask","new":[{}],` + params + `}`, -32001, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"Get\u0054ask",` + params + `}`, -32001, `1`},
		{``, -32700, `null`},
		{`{`, -32700, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask"} x`, -32700, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + "\xff" + `"}}`, -32700, `null`},
		{`[]`, -32600, `null`},
		{`[{"jsonrpc":"2.0","id":1,"method":"GetTask",` + params + `}]`, -32600, `null`},
		{`"x"`, -32600, `null`},
		{`null`, -32600, `null`},
		{`{}`, -32600, `null`},
		{`{"jsonrpc":"1.0","id":1,"method":"GetTask"}`, -32600, `1`},
		{`{"jsonrpc":2.0,"id":1,"method":"GetTask"}`, -32600, `1`},
		{`{"id":1,"method":"GetTask"}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":true,"method":"GetTask"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":[1],"method":"GetTask"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"GetTask"}`, -32600, `null`},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, -32601, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"getTask"}`, -32601, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, -32601, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":null}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":"x"}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":""}}`, -32602, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"ID":"none"}}`, -32602, `1`},
	} {
		a := c.send(c.raw(t.Context(), http.MethodPost, "/rpc", tt.body))
		if a.err == nil || a.err.code != tt.code || a.status != http.StatusOK {
			t.Errorf("%.120s: status %d, %.300s, want %d", tt.body, a.status, a.raw, tt.code)
		}
		if want := `{"jsonrpc":"2.0","id":` + tt.id + `,"error":{`; !strings.HasPrefix(string(a.raw), want) {
			t.Errorf("%.120s: %.80s, want %s", tt.body, a.raw, want)
		}
	}
	if n := w.count(); n != 0 {
		t.Errorf("%d tasks", n)
	}
}

// The version is looked at once the id is known, and before the method.
func TestEnvelopeBeforeVersion(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, true).with("A2A-Version", "0.3")
	a := c.send(c.raw(t.Context(), http.MethodPost, "/rpc", `{"jsonrpc":"2.0","id":"x","method":"message/send"}`))
	if a.err == nil || a.err.code != -32009 || !strings.Contains(string(a.raw), `"id":"x"`) {
		t.Errorf("%.300s", a.raw)
	}
}

// §9.1: POST alone, and application/json.
func TestRPCMethods(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, true)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodHead} {
		a := c.send(c.raw(t.Context(), method, "/rpc", ""))
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/a2a+json"} {
		a := c.with("Content-Type", kind).call("ListTasks", object{})
		if a.err != nil || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %.200s", kind, a.raw)
		}
	}
	bare := c.request(t.Context(), "ListTasks", object{})
	bare.Header.Del("Content-Type")
	if a := c.send(bare); a.err != nil {
		t.Errorf("without a Content-Type: %.200s", a.raw)
	}
}

// §9.4: the frames of results and streams repeat the id as it was sent.
func TestFrames(t *testing.T) {
	w := newWorld(t, completing)
	c := w.client(t, true)
	body := `{"jsonrpc":"2.0","id":1e2,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}`
	a := c.send(c.raw(t.Context(), http.MethodPost, "/rpc", body))
	frames := strings.Split(strings.TrimSuffix(string(a.raw), "\n\n"), "\n\n")
	if len(frames) < 3 {
		t.Fatalf("%s", a.raw)
	}
	for _, frame := range frames {
		lines := strings.Split(frame, "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "id: ") || !strings.HasPrefix(lines[1], `data: {"jsonrpc":"2.0","id":1e2,"result":{`) || !strings.HasSuffix(lines[1], "}}") {
			t.Errorf("frame %q", frame)
		}
	}
	get := c.send(c.raw(t.Context(), http.MethodPost, "/rpc", `{"jsonrpc":"2.0","id":"g","method":"ListTasks"}`))
	if !strings.HasPrefix(string(get.raw), `{"jsonrpc":"2.0","id":"g","result":{"tasks":[`) {
		t.Errorf("%.100s", get.raw)
	}
}
