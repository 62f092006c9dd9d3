package watch

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// One line that a shell takes apart as it was meant, whatever stands in it.
func TestAnswer(t *testing.T) {
	task := &a2a.Task{ID: "0198-a", Metadata: map[string]any{extensionURI: map[string]any{"pause": 2}}}
	for want, c := range map[string]Client{
		"'http://127.0.0.1:8080/message:send'":               {BaseURL: "http://127.0.0.1:8080/"},
		"'http://127.0.0.1:8080/access-review/message:send'": {BaseURL: "http://127.0.0.1:8080", Agent: "access-review"},
		`'http://127.0.0.1:8080/it'\''s/message:send'`:       {BaseURL: "http://127.0.0.1:8080/it's"},
	} {
		got, err := c.Answer(task, "it's fine")
		if wants := "curl -s " + want + ` -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json' -d '{"configuration":{"historyLength":0,"returnImmediately":true},"message":{"messageId":"answer-2","parts":[{"text":"it'\''s fine"}],"role":"ROLE_USER","taskId":"0198-a"},"metadata":{"urn:holdfast:a2a:durable-task:v1":{"pause":2}}}'`; err != nil || got != wants {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, wants)
		}
	}
}
