package integration_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// reviewer is the path under which the agent of the worked example is.
const reviewer = "/" + accessreview.Name

// caller makes requests, each on a connection of its own: none is repeated behind the
// test's back.
var caller = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

// String is for messages.
func (a answer) String() string { return fmt.Sprintf("%d %.400s", a.status, a.body) }

// newRequest is a request of the caller with the key; bodies are JSON.
func newRequest(ctx context.Context, method, url, body string, headers ...string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Authorization", "Bearer "+apiKey)
	if body != "" {
		r.Header.Set("Content-Type", "application/a2a+json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r, nil
}

// call makes one request.
func call(ctx context.Context, method, url, body string, headers ...string) (answer, error) {
	r, err := newRequest(ctx, method, url, body, headers...)
	if err != nil {
		return answer{}, err
	}
	resp, err := caller.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, text}, err
}

// ask makes a request that must succeed, and decodes the answer unless into is nil.
func ask(ctx context.Context, into any, method, url, body string, headers ...string) error {
	a, err := call(ctx, method, url, body, headers...)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s", a)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(a.body, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// send is SendMessage; the task that came of it.
func send(ctx context.Context, agent, body string) (a2a.Task, error) {
	var sent struct {
		Task a2a.Task `json:"task"`
	}
	err := ask(ctx, &sent, http.MethodPost, agent+"/message:send", body)
	return sent.Task, err
}

// getTask is GetTask.
func getTask(ctx context.Context, agent string, id a2a.TaskID) (t a2a.Task, err error) {
	return t, ask(ctx, &t, http.MethodGet, agent+"/tasks/"+string(id), "")
}

// text is the body of a first message.
func text(messageID, says string, immediately bool) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":%t}}`, messageID, says, immediately)
}

// submission is the body that submits the shipped review.
func submission(messageID string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"Review access for Q3 2026"},{"raw":%q,"mediaType":"text/csv","filename":"grants.csv"}]},"configuration":{"returnImmediately":true}}`,
		messageID, base64.StdEncoding.EncodeToString(events.AccessReviewCSV))
}

// approval is the body that approves everything in the pause that the task is in.
func approval(t a2a.Task, messageID string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","taskId":%q,"parts":[{"text":"approve all"}],"metadata":{%q:{"pause":%d}}},"configuration":{"returnImmediately":true}}`,
		messageID, t.ID, lifecycle.ExtensionURI, int(own(t, "pause")))
}

// own is a number in the extension's metadata.
func own(t a2a.Task, field string) float64 {
	all, _ := t.Metadata[lifecycle.ExtensionURI].(map[string]any)
	n, _ := all[field].(float64)
	return n
}
