package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// §11.3: the addresses, with and without the agent in front (A2A's tenant).
func TestAddresses(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/tasks/" + id, 200},
		{"HEAD", "/tasks/" + id, 200},
		{"GET", "/first/tasks/" + id, 200},
		{"GET", "/keyed/tasks/" + id, 404},
		{"GET", "/other/tasks/" + id, 404},
		{"GET", "/tasks", 200},
		{"GET", "/keyed/tasks", 200},
		{"GET", "/keyed/.well-known/agent-card.json", 200},
		{"GET", "/healthz", 200},
		{"GET", "/keyed/healthz", 404},
		{"GET", "/", 404},
		{"GET", "/keyed", 404},
		{"GET", "/tasks/", 404},
		{"GET", "//tasks", 404},
		{"GET", "/tasks/" + id + "/unknown", 404},
		{"GET", "/tasks/" + id + "/blobs/a/b", 404},
		{"GET", "/tasks/" + id + ":cancel", 405},
		{"PUT", "/tasks/" + id, 405},
		{"POST", "/tasks", 405},
		{"DELETE", "/tasks/" + id, 405},
		{"GET", "/message:send", 405},
		{"GET", "/message%3Asend", 405},
		{"POST", "/message:other", 404},
		{"GET", "/tasks/:cancel", 404},
		{"GET", "/tasks/%2e%2e", 404},
		{"GET", "/tasks/" + url.PathEscape("a/b"), 404},
		{"POST", "/tasks/" + id + ":cancel", 200},
		{"POST", "/keyed/tasks/" + id + ":cancel", 404},
	} {
		a := c.send(c.raw(t.Context(), tt.method, tt.path, ""))
		if a.status != tt.status {
			t.Errorf("%s %s: %d, want %d: %.200s", tt.method, tt.path, a.status, tt.status, a.raw)
		}
		if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
	}
}

// The tenant parameter selects the agent just as the path does.
func TestTenantSelectsTheAgent(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := text(c.ok("SendMessage", with(immediately(message("m-1", "do it")), object{"tenant": "keyed"})), "task.id")
		if h := w.head(id); h.Agent != "keyed" {
			t.Errorf("agent %s", h.Agent)
		}
		c.refused("GetTask", object{"id": id}, "TASK_NOT_FOUND")
		c.ok("GetTask", object{"id": id, "tenant": "keyed"})
		c.at("keyed").ok("GetTask", object{"id": id, "tenant": "keyed"})
		c.at("keyed").ok("CancelTask", object{"id": id, "tenant": ""})
		c.at("first").refused("GetTask", object{"id": id, "tenant": "keyed"}, "INVALID_PARAMS")
	})
}

// §11.1: application/a2a+json, unless that is not accepted.
func TestRESTMediaTypes(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	for accept, want := range map[string]string{
		"":                                       "application/a2a+json",
		"*/*":                                    "application/a2a+json",
		"application/*":                          "application/a2a+json",
		"application/json, application/a2a+json": "application/a2a+json",
		"application/json":                       "application/json",
		"text/event-stream":                      "application/json",
	} {
		for _, path := range []string{"/tasks", "/tasks/none"} {
			if a := c.with("Accept", accept).send(c.with("Accept", accept).raw(t.Context(), "GET", path, "")); a.header.Get("Content-Type") != want {
				t.Errorf("Accept %q, %s: %s, want %s", accept, path, a.header.Get("Content-Type"), want)
			}
		}
	}
}

// §11.4, §11.5: bodies that may be empty, and queries.
func TestRESTParameters(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	for _, tt := range []struct {
		method, path, body string
		reason             string
	}{
		{"POST", "/message:send", "", "PARSE_ERROR"},
		{"POST", "/message:send", "{", "PARSE_ERROR"},
		{"POST", "/message:send", "[]", "INVALID_REQUEST"},
		{"POST", "/message:send", "null", "INVALID_REQUEST"},
		{"POST", "/message:send", "{}", "INVALID_PARAMS"},
		{"POST", "/tasks/" + id + ":cancel", "{", "PARSE_ERROR"},
		{"POST", "/tasks/" + id + ":cancel", "[]", "INVALID_REQUEST"},
		{"POST", "/tasks/" + id + ":cancel", `{"metadata":7}`, "INVALID_PARAMS"},
		{"GET", "/tasks?pageSize=%zz", "", "INVALID_PARAMS"},
		{"GET", "/tasks/" + id + "?historyLength=1;x", "", "INVALID_PARAMS"},
		{"GET", "/tasks/" + id + "?historyLength=&pageSize=0&status=x&new=1", "", ""},
		{"GET", "/tasks?status=&pageSize=&contextId=", "", ""},
		{"GET", "/tasks?lastUpdatedAfter=x", "", "INVALID_PARAMS"},
		{"POST", "/tasks/" + id + ":cancel", `{"id":"other","metadata":{"a":1}}`, ""},
	} {
		a := c.send(c.raw(t.Context(), tt.method, tt.path, tt.body))
		switch {
		case tt.reason == "" && a.err != nil, tt.reason != "" && (a.err == nil || a.err.reason != tt.reason):
			t.Errorf("%s %s %s: %.300s, want %q", tt.method, tt.path, tt.body, a.raw, tt.reason)
		}
	}
	// The official Go client's name for statusTimestampAfter filters as well.
	if a := c.send(c.raw(t.Context(), "GET", "/tasks?lastUpdatedAfter=2030-01-01T00:00:00Z", "")); a.result["totalSize"] != 0.0 {
		t.Errorf("%s", a.raw)
	}
}

// §5.3 says POST, the proto GET: both subscribe.
func TestSubscribeByGet(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, grant())
	r := c.with("Last-Event-ID", "1").raw(t.Context(), "GET", "/tasks/"+id+":subscribe", "")
	resp, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type %s", kind)
	}
	w.must(id, complete())
	if a := c.read(resp); strings.Count(string(a.raw), "id: ") != 2 {
		t.Errorf("%s", a.raw)
	}
}

// Whoever has an agent's name wrong learns where the cards are, and no more.
func TestAddressWithNothingNamesTheCards(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	a := c.send(c.raw(t.Context(), http.MethodPost, "/acess-review/message:send", `{}`))
	host := strings.TrimPrefix(c.base, "http://")
	for _, agent := range []string{"", "/first", "/keyed"} {
		if card := "http://" + host + agent + "/.well-known/agent-card.json"; a.status != http.StatusNotFound || !strings.Contains(string(a.raw), card) {
			t.Errorf("%d %s, want %s in it", a.status, a.raw, card)
		}
	}
	if strings.Contains(string(a.raw), "acess-review") {
		t.Errorf("the answer repeats what was asked for: %s", a.raw)
	}
}

// A body that is no JSON is answered with the byte at which it is wrong.
func TestBodyThatIsNoJSONIsPointedAt(t *testing.T) {
	both(t, nil, func(_ *world, c client) {
		path := "/message:send"
		if c.rpc {
			path = "/rpc"
		}
		for _, tt := range []struct{ body, says string }{
			{`{"message":{"messageId":"a",}}`, "byte 29"},
			{`{"message":`, "ends too early, after byte 11"},
			{"{\"a\":\"\u00e9\xff\"}", "byte 9 is not UTF-8"},
			{`{} x`, "byte 4"},
			{``, "empty"},
		} {
			a := c.send(c.raw(t.Context(), http.MethodPost, path, tt.body))
			if a.err == nil || a.err.reason != "PARSE_ERROR" || !strings.Contains(string(a.raw), tt.says) {
				t.Errorf("%q: %s, want %q", tt.body, a.raw, tt.says)
			}
		}
	})
}

// An answer is one line, whether it is an error or not, and ends it.
func TestAnswersAreOneLine(t *testing.T) {
	both(t, nil, func(_ *world, c client) {
		path, bad := "/tasks/none", "/tasks?pageSize=x"
		if c.rpc {
			path, bad = "/rpc", "/rpc"
		}
		for _, where := range []string{path, bad, "/nothing", "/healthz", "/.well-known/agent-card.json"} {
			a := c.send(c.raw(t.Context(), http.MethodGet, where, ""))
			if text := string(a.raw); !strings.HasSuffix(text, "\n") || strings.Count(text, "\n") != 1 {
				t.Errorf("%s: %q", where, text)
			}
		}
	})
}
