package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// subject is one of the agents that the program ships.
type subject struct {
	name, base string
	examples   int      // in percent of what the flag says
	texts      []string // that it understands
	submit     func() ([]string, error)
	does       []string // the operations that must have succeeded
}

// everywhere are the operations that every agent does.
var everywhere = []string{
	"GET /tasks", "GET /tasks/{id}", "POST /tasks/{id}:cancel", "GET /tasks/{id}:subscribe", "POST /tasks/{id}:subscribe",
	"GET /tasks/{id}/pushNotificationConfigs", "POST /tasks/{id}/pushNotificationConfigs",
	"GET /tasks/{id}/pushNotificationConfigs/{item}", "DELETE /tasks/{id}/pushNotificationConfigs/{item}",
	"GET /tasks/{id}/ledger", "GET /tasks/{id}/effects", "GET /tasks/{id}/export", "GET /.well-known/agent-card.json",
}

// largeText does not fit an entry: it is kept as a blob.
var largeText = strings.Repeat("x", 70_000)

func subjects() []subject {
	return []subject{
		{
			name: "hello", examples: 100, texts: []string{"Ada", "count 2"},
			submit: func() ([]string, error) {
				return []string{text("openapi-1", "count 1000"), text("openapi-2", "Ada"), text("openapi-3", largeText), text("openapi-4", "count 900")}, nil
			},
			does: append(everywhere, "POST /message:send", "POST /message:stream", "GET /tasks/{id}/blobs/{item}",
				"GET /.well-known/jwks.json", "GET /.well-known/webhook-keys.json", "GET /healthz", "GET /health"),
		},
		{
			name: "access-review", base: "/access-review", examples: 30, texts: []string{"approve all", "why?"},
			submit: func() ([]string, error) {
				review, err := os.ReadFile(filepath.Join("events", "accessreview", "send.json"))
				return []string{string(review), strings.Replace(string(review), `"access-review-2026-q3"`, `"openapi-2"`, 1)}, err
			},
			does: everywhere,
		},
	}
}

func text(id, words string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, id, words)
}

// names are those that schemathesis uses beside what it makes up.
type names struct {
	tasks, contexts, digests []string
	hook                     string
}

// hookID is the configuration that each task has.
const hookID = "hook"

// blob is a large part's address.
var blob = regexp.MustCompile(`/blobs/([0-9a-f]{64})`)

// seed makes tasks in various states, each with a webhook.
func (a subject) seed(ctx context.Context, url, hook string) (names, error) {
	seen := names{hook: hook}
	bodies, err := a.submit()
	if err != nil {
		return seen, err
	}
	for _, body := range bodies {
		var sent struct {
			Task struct{ ID, ContextID string }
		}
		answer, err := post(ctx, url+a.base+"/message:send", body)
		if err == nil {
			err = json.Unmarshal(answer, &sent)
		}
		if err == nil {
			config := fmt.Sprintf(`{"id":%q,"url":%q,"authentication":{"scheme":"Bearer","credentials":"none"}}`, hookID, hook)
			_, err = post(ctx, url+a.base+"/tasks/"+sent.Task.ID+"/pushNotificationConfigs", config)
		}
		if err != nil {
			return seen, err
		}
		for _, found := range blob.FindAllSubmatch(answer, -1) {
			seen.digests = append(seen.digests, string(found[1]))
		}
		seen.tasks, seen.contexts = append(seen.tasks, sent.Task.ID), append(seen.contexts, sent.Task.ContextID)
	}
	if len(seen.digests) == 0 {
		seen.digests = []string{strings.Repeat("0", 64)}
	}
	return seen, nil
}

func post(ctx context.Context, url, body string) ([]byte, error) {
	var answer json.RawMessage
	err := driver.NewClient(0).AskFor(ctx, http.MethodPost, url, []byte(body), &answer)
	return answer, err
}
