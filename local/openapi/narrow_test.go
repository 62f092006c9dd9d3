package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What schemathesis gets is the description, with what is there in place of what is
// free; a description without the places for it is refused.
func TestNarrowed(t *testing.T) {
	seen := names{tasks: []string{"t1", "t2"}, contexts: []string{"c"}, digests: []string{"d"}, hook: "http://127.0.0.1:1/hook"}
	a := subjects()[0]
	whole := readDescription(t)
	text, err := narrowed(whole, seen, a)
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]string{
		{"components", "parameters", "Task", "schema"},
		{"components", "parameters", "Digest", "schema"},
		{"components", "schemas", "TaskPushNotificationConfig", "properties", "url"},
		{"components", "schemas", "SendMessageRequest", "properties", "tenant"},
		{"components", "schemas", "SendMessageRequest", "properties", "message"},
	} {
		if n := below(doc, where...); n["enum"] == nil && n["properties"] == nil {
			t.Errorf("%s is %v", strings.Join(where, "/"), n)
		}
	}
	if strings.Count(string(text), seen.hook) != 1 {
		t.Error("webhooks may lead elsewhere")
	}
	if _, err := narrowed([]byte(strings.ReplaceAll(string(whole), `"Digest"`, `"Other"`)), seen, a); err == nil {
		t.Error("a description without the parameter was taken")
	}
}

// An operation that was never done is an error, however many requests there were.
func TestReached(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.har")
	text := `{"log":{"entries":[
		{"request":{"method":"GET","url":"http://h/a/tasks/7?x=1"},"response":{"status":200}},
		{"request":{"method":"GET","url":"http://h/a/tasks/7/blobs/8"},"response":{"status":404}}]}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := subject{name: "a", base: "/a", does: []string{"GET /tasks/{id}"}}
	if n, err := s.reached(file, &out); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	s.does = append(s.does, "GET /tasks/{id}/blobs/{item}")
	if _, err := s.reached(file, &out); err == nil || !strings.Contains(err.Error(), "blobs/{item} was never answered with 200") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(out.String(), "404: 1") {
		t.Errorf("it says %q", out.String())
	}
}
