package watch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Answer is a command line that answers the pause in which a task waits.
func (c Client) Answer(t *a2a.Task, text string) (string, error) {
	type object = map[string]any
	pause := Pause(t)
	body, err := json.Marshal(object{
		"message":       object{"messageId": fmt.Sprintf("answer-%d", pause), "taskId": t.ID, "role": "ROLE_USER", "parts": []object{{"text": text}}},
		"configuration": object{"returnImmediately": true, "historyLength": 0},
		"metadata":      object{extensionURI: object{"pause": pause}},
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("curl -s %s -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a+json' -d %s", quoted(c.agentURL()+"/message:send"), quoted(string(body))), nil
}

// quoted is a word as a shell reads it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
