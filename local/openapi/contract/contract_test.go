package contract_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/openapi/contract"
)

// small describes one operation that answers and one that streams.
const small = `{
 "openapi": "3.1.1",
 "paths": {
  "/things/{id}": {"get": {"operationId": "GetThing", "responses": {
   "200": {"headers": {"ETag": {"required": true}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
   "404": {"$ref": "#/components/responses/NotFound"}}}},
  "/things/{id}:watch": {"get": {"operationId": "WatchThing", "responses": {"200": {"content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Event"}}}}}}},
  "/things": {"get": {"operationId": "ExportThings", "responses": {"200": {"content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}}
 },
 "components": {
  "responses": {"NotFound": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}},
  "schemas": {
   "Thing": {"type": "object", "properties": {"id": {"type": "string"}, "at": {"type": "string", "format": "date-time"}}, "required": ["id"]},
   "Error": {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]},
   "Event": {"type": "object", "properties": {"id": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": "#/components/schemas/Thing"}}}, "required": ["data"]}
  }
 }
}`

// fixed answers every request alike.
type fixed struct {
	status int
	header http.Header
	body   string
}

// RoundTrip implements http.RoundTripper.
func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Header: f.header, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

// What is as described passes, and whatever is not is reported, while the answer goes
// on as it is.
func TestContract(t *testing.T) {
	c, err := contract.New([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	const inJSON, inEvents, inLines = "application/json", "text/event-stream", "application/x-ndjson"
	for _, test := range []struct {
		name, path, media, body string
		status                  int
		want                    string // in what is reported; empty: nothing is
	}{
		{"as described", "/things/7", inJSON, `{"id":"7"}`, 200, ""},
		{"below an agent", "/agent/things/7", inJSON, `{"id":"7"}`, 200, ""},
		{"an error as described", "/things/7", inJSON, `{"error":"none"}`, 404, ""},
		{"nothing is there", "/other/way/off", inJSON, `{"error":"none"}`, 404, ""},
		{"another status", "/things/7", inJSON, `{"error":"none"}`, 500, "no such status"},
		{"another media type", "/things/7", "text/plain", `{"id":"7"}`, 200, "media type"},
		{"a member is missing", "/things/7", inJSON, `{}`, 200, "missing propert"},
		{"a member that is not described", "/things/7", inJSON, `{"id":"7","more":1}`, 200, "additional propert"},
		{"another form", "/things/7", inJSON, `{"id":"7","at":"noon"}`, 200, "date-time"},
		{"no JSON", "/things/7", inJSON, `{`, 200, "EOF"},
		{"no operation", "/other/way/off", inJSON, `{}`, 200, "not described"},
		{"a stream", "/things/7:watch", inEvents, ": quiet\n\nid: 1\ndata: {\"id\":\"7\"}\n\n", 200, ""},
		{"a stream's data", "/things/7:watch", inEvents, "id: 1\ndata: {\"id\":7}\n\n", 200, "want string"},
		{"a stream's field", "/things/7:watch", inEvents, "retry: 1\ndata: {\"id\":\"7\"}\n\n", 200, "additional propert"},
		{"lines", "/things", inLines, "{\"id\":\"7\"}\n{\"id\":\"8\"}\n", 200, ""},
		{"a line", "/things", inLines, "{\"id\":\"7\"}\n{}\n", 200, "missing propert"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var reported error
			answer := fixed{test.status, http.Header{"Content-Type": {test.media}, "Etag": {"1"}}, test.body}
			client := http.Client{Transport: c.Transport(answer, func(err error) { reported = errors.Join(reported, err) })}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example"+test.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil || string(body) != test.body {
				t.Errorf("the answer became %q (%v)", body, err)
			}
			if (reported == nil) != (test.want == "") || reported != nil && !strings.Contains(reported.Error(), test.want) {
				t.Errorf("reported %v, want %q", reported, test.want)
			}
		})
	}
}
