package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// required are the fields that an object must have (§5.7), by the member that holds
// it or a list of it.
var required = map[string][]string{
	"task":                {"id", "contextId", "status"},
	"tasks":               {"id", "contextId", "status"},
	"status":              {"state"},
	"statusUpdate":        {"taskId", "contextId", "status"},
	"artifactUpdate":      {"taskId", "contextId", "artifact"},
	"artifact":            {"artifactId", "parts"},
	"artifacts":           {"artifactId", "parts"},
	"message":             {"messageId", "role", "parts"},
	"history":             {"messageId", "role", "parts"},
	"card":                {"name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"},
	"skills":              {"id", "name", "description", "tags"},
	"supportedInterfaces": {"url", "protocolBinding", "protocolVersion"},
}

// filled are the lists that must have an item.
var filled = []string{"parts", "supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills", "tags"}

// forms are how values are written (§5.5, §5.6.1).
var forms = map[string]*regexp.Regexp{
	"state":     regexp.MustCompile(`^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)$`),
	"role":      regexp.MustCompile(`^ROLE_(USER|AGENT)$`),
	"timestamp": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
}

// open are members whose content is the agent's, the caller's or an extension's.
var open = []string{"metadata", "data", "params"}

var camel = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$|^@type$`)

// misspelt is what is wrong with the wire format of a document.
func misspelt(path, member string, v any) []string {
	var wrong []string
	switch v := v.(type) {
	case nil:
		wrong = append(wrong, path+" is null")
	case []any:
		if len(v) == 0 && slices.Contains(filled, member) {
			wrong = append(wrong, path+" is empty")
		}
		for i, item := range v {
			wrong = append(wrong, misspelt(fmt.Sprintf("%s[%d]", path, i), member, item)...)
		}
	case object:
		for _, field := range required[member] {
			if v[field] == nil || v[field] == "" {
				wrong = append(wrong, path+" has no "+field)
			}
		}
		for name, inner := range v {
			if !camel.MatchString(name) {
				wrong = append(wrong, path+"."+name+" is not in camelCase")
			}
			if !slices.Contains(open, name) {
				wrong = append(wrong, misspelt(path+"."+name, name, inner)...)
			}
		}
	case string:
		if form := forms[member]; form != nil && !form.MatchString(v) {
			wrong = append(wrong, fmt.Sprintf("%s is %q", path, v))
		}
	}
	return wrong
}

// §5.5, §5.6.1, §5.7, §3.4.2: names, enums, timestamps and required fields of every
// answer and every event of both bindings.
func TestWireFormat(t *testing.T) {
	rpc, rest := served(t, Tester)
	for _, c := range []caller{rpc, rest} {
		check := func(what string, v any) {
			t.Helper()
			for _, wrong := range misspelt(what, what, v) {
				t.Error(wrong)
			}
		}
		for _, s := range quick() {
			sent := c.ok("SendMessage", message(s.prefix))
			check("answer", sent)
			id := at(sent, "task", "id")
			check("task", c.ok("GetTask", object{"id": id, "historyLength": 10}))
			for _, e := range c.stream("SendStreamingMessage", message(s.prefix)) {
				check("event", e)
			}
			check("fault", c.call("GetTask", object{"id": "none-" + s.prefix}).fault)
		}
		list := c.ok("ListTasks", object{"includeArtifacts": true, "historyLength": 10})
		check("list", list)
		if tasks, _ := list["tasks"].([]any); len(tasks) < len(quick()) {
			t.Errorf("%d tasks are listed", len(tasks))
		}
		r := c.request("ListTasks", nil)
		r.Method, r.URL.Path, r.Body, r.ContentLength = http.MethodGet, "/.well-known/agent-card.json", nil, 0
		_, text := c.send(r)
		var card any
		if err := json.Unmarshal(text, &card); err != nil {
			t.Fatal(err)
		}
		check("card", card)
	}
}

// What the walk must find.
func TestMisspelt(t *testing.T) {
	for text, want := range map[string]string{
		`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-03-01T10:00:00.000Z"},"metadata":{"a_b":null}}}`: "",
		`{"task":{"id":"","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`:                                                                 "x.task has no id",
		`{"status":{"state":"working"}}`:                                                         `x.status.state is "working"`,
		`{"timestamp":"2026-03-01T10:00:00.000+02:00"}`:                                          `x.timestamp is "2026-03-01T10:00:00.000+02:00"`,
		`{"context_id":"c"}`:                                                                     "x.context_id is not in camelCase",
		`{"history":[{"messageId":"m","role":"user","parts":[{"text":"x"}]}]}`:                   `x.history[0].role is "user"`,
		`{"artifacts":[{"artifactId":"a","parts":[]}]}`:                                          "x.artifacts[0].parts is empty",
		`{"contextId":null}`:                                                                     "x.contextId is null",
		`{"skills":[{"id":"s","name":"s","description":"s","tags":[]}]}`:                         "x.skills[0].tags is empty",
		`{"error":{"message":"m","details":[{"@type":"t"}]},"data":{"a_b":null},"nextPage":"7"}`: "",
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(misspelt("x", "x", v), ", "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
