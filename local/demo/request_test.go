package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAnswerInShort(t *testing.T) {
	for want, a := range map[string]answer{
		"200":                           {200, []byte(`{"task":{}}`)},
		"400 UNSUPPORTED_OPERATION: no": {400, []byte(`{"error":{"message":"no","details":[{"x":1},{"reason":"UNSUPPORTED_OPERATION"}]}}`)},
		"404: no":                       {404, []byte(`{"error":{"message":"no"}}`)},
		`502 "<html>"`:                  {502, []byte(`<html>`)},
	} {
		if a.String() != want {
			t.Errorf("got %q, want %q", a, want)
		}
	}
}

func TestAnswerTask(t *testing.T) {
	if got, err := (answer{200, []byte(`{"task":{"id":"t","metadata":{"` + extensionURI + `":{"pause":2,"sequence":7}}}}`)}).task(); err != nil || got.ID != "t" || got.Metadata.Own.Pause != 2 || got.Metadata.Own.Sequence != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, a := range []answer{{400, []byte(`{"task":{"id":"t"}}`)}, {200, []byte(`{"message":{}}`)}, {200, []byte(`{"task":{}}`)}, {200, []byte(`x`)}} {
		if _, err := a.task(); err == nil {
			t.Errorf("%s is a task", a)
		}
	}
}

// The answer names its pause, in the message's metadata.
func TestReplyNamesPause(t *testing.T) {
	one := task{ID: "t", ContextID: "c"}
	one.Metadata.Own.Pause = 3
	text, err := reply(one, "m")
	if err != nil || !json.Valid(text) {
		t.Fatalf("%s, %v", text, err)
	}
	for _, want := range []string{`"messageId":"m"`, `"taskId":"t"`, `"contextId":"c"`, `{"` + extensionURI + `":{"pause":3}}`, `{"text":"approve all"}`, `"returnImmediately":true`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
