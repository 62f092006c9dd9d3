package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.3.2, §5.7: every wrong field is named, and nothing is written.
func TestInvalidMessages(t *testing.T) {
	part := func(p string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},` + p + `]}}`
	}
	member := func(m string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],` + m + `}}`
	}
	beside := func(m string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},` + m + `}`
	}
	both(t, nil, func(w *world, c client) {
		t := w.t
		for params, want := range map[string][]string{
			`{}`:                     {"message"},
			`{"message":null}`:       {"message"},
			`{"message":"x"}`:        {"message"},
			`{"message":[]}`:         {"message"},
			`{"message":{}}`:         {"message.messageId", "message.role", "message.parts"},
			member(`"messageId":""`): {"message.messageId"},
			member(`"messageId":7`):  {"message.messageId"},
			member(`"messageId":"` + strings.Repeat("x", 129) + `"`): {"message.messageId"},
			member(`"messageId":"a\u0000b"`):                         {"message.messageId"},
			member(`"contextId":"a\nb"`):                             {"message.contextId"},
			member(`"contextId":"` + strings.Repeat("x", 129) + `"`): {"message.contextId"},
			member(`"contextId":{}`):                                 {"message.contextId"},
			member(`"taskId":1`):                                     {"message.taskId"},
			member(`"role":"ROLE_AGENT"`):                            {"message.role"},
			member(`"role":"user"`):                                  {"message.role"},
			member(`"role":1`):                                       {"message.role"},
			member(`"parts":[]`):                                     {"message.parts"},
			member(`"parts":{}`):                                     {"message.parts"},
			member(`"metadata":[]`):                                  {"message.metadata"},
			member(`"metadata":{"a":1e999}`):                         {"message.metadata"},
			member(`"extensions":"x"`):                               {"message.extensions"},
			member(`"extensions":[1]`):                               {"message.extensions[0]"},
			member(`"referenceTaskIds":[null]`):                      {"message.referenceTaskIds[0]"},
			part(`null`):                                             {"message.parts[1]"},
			part(`"x"`):                                              {"message.parts[1]"},
			part(`{}`):                                               {"message.parts[1]"},
			part(`{"kind":"text"}`):                                  {"message.parts[1]"},
			part(`{"text":"x","url":"http://x"}`):                    {"message.parts[1]"},
			part(`{"text":1}`):                                       {"message.parts[1].text"},
			part(`{"raw":"***"}`):                                    {"message.parts[1].raw"},
			part(`{"raw":7}`):                                        {"message.parts[1].raw"},
			part(`{"data":null}`):                                    {"message.parts[1].data"},
			part(`{"data":{"n":1e999}}`):                             {"message.parts[1].data"},
			part(`{"url":""}`):                                       {"message.parts[1].url"},
			part(`{"url":"holdfast-blob:00"}`):                       {"message.parts[1].url"},
			part(`{"text":"x","mediaType":1,"filename":[],"metadata":"m"}`): {"message.parts[1].mediaType", "message.parts[1].filename", "message.parts[1].metadata"},
			beside(`"configuration":[]`):                                    {"configuration"},
			beside(`"metadata":"x"`):                                        {"metadata"},
			beside(`"tenant":1`):                                            {"tenant"},
			beside(`"configuration":{"returnImmediately":"yes","acceptedOutputModes":"text/plain"}`): {"configuration.returnImmediately", "configuration.acceptedOutputModes"},
			member(`"metadata":{"` + lifecycle.ExtensionURI + `":[]}`):                               {"message.metadata." + lifecycle.ExtensionURI},
		} {
			path, body := "/message:send", params
			if c.rpc {
				path, body = "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+params+`}`
			}
			a := c.send(c.raw(t.Context(), http.MethodPost, path, body))
			if a.err == nil || a.err.reason != "INVALID_PARAMS" || !slices.Equal(a.err.fields, want) {
				t.Errorf("%.150s: %.300s, want the fields %v", params, a.raw, want)
			}
		}
		if n := w.count(); n != 0 {
			t.Errorf("%d tasks were written", n)
		}
	})
}

// §5.7: unknown members and nulls are ignored, a member that comes twice counts
// the last time.
func TestTolerantReading(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		params := `{"x":{"a":[1,{"b":"}"}]},"message":{"messageId":"no","messageId":"m","contextId":null,"role":"ROLE_USER","kind":"message",
			"parts":[{"text":"first","text":"se\"c\\","kind":"text","new":[]}]},"configuration":{"blocking":true,"historyLength":1.0e0,"returnImmediately":true},"metadata":null}`
		path, body := "/message:send", params
		if c.rpc {
			path, body = "/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+params+`}`
		}
		a := c.send(c.raw(t.Context(), http.MethodPost, path, body))
		if got := fmt.Sprint(text(a.result, "task.history.0.messageId"), text(a.result, "task.history.0.parts.0.text")); got != `mse"c\` {
			t.Errorf("%s: %.300s", got, a.raw)
		}
	})
}

// ProtoJSON: base64 in either alphabet, padded or not.
func TestBase64(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		for _, raw := range []string{"+/8=", "-_8=", "+/8", "-_8"} {
			m := object{"messageId": "m", "role": "ROLE_USER", "parts": []any{object{"raw": raw}}}
			if got := text(c.ok("SendMessage", immediately(m)), "task.history.0.parts.0.raw"); got != "+/8=" {
				t.Errorf("%s: %q", raw, got)
			}
		}
	})
}
