package main

import (
	"encoding/json"
	"strings"
	"testing"
)

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
