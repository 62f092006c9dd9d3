package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	stranger    = "globex"
	strangerKey = "another-tenants-0123456789abcdefghijklmn"
)

// keysOf is the variable that lets both tenants in, with all rights to see what is their
// own.
func keysOf() string {
	var all []string
	for _, k := range [][2]string{{tenant, apiKey}, {stranger, strangerKey}} {
		sum := sha256.Sum256([]byte(k[1]))
		all = append(all, fmt.Sprintf(`{"tenant":%q,"name":"tests","sha256":%q,"scopes":["caller","operator:read","operator:act"]}`, k[0], hex.EncodeToString(sum[:])))
	}
	return "HOLDFAST_API_KEYS=[" + strings.Join(all, ",") + "]"
}

// question is a request about a task; task, blob and id are put in.
type question struct {
	name, method, path, body string
	changes                  bool
}

// questions are whatever can be asked of a task, over both bindings.
func questions(id a2a.TaskID, blob string) []question {
	rest := func(name, method, path, body string, changes bool) question {
		return question{name, method, "/tasks/" + string(id) + path, body, changes}
	}
	rpc := func(method, params string, changes bool) question {
		return question{method + " (JSON-RPC)", http.MethodPost, "/rpc", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params), changes}
	}
	named, message := fmt.Sprintf(`{"id":%q}`, id), answering(id, "m-of-"+string(id), "yes")
	return []question{
		rest("GetTask", http.MethodGet, "", "", false),
		rest("SubscribeToTask", http.MethodPost, ":subscribe", "", false),
		rest("the ledger", http.MethodGet, "/ledger", "", false),
		rest("the effects", http.MethodGet, "/effects", "", false),
		rest("a blob", http.MethodGet, "/blobs/"+blob, "", false),
		rest("a replay of webhooks", http.MethodPost, "/pushNotificationConfigs:replay", "", false),
		rest("CancelTask", http.MethodPost, ":cancel", "", true),
		{"SendMessage", http.MethodPost, "/message:send", message, true},
		{"SendStreamingMessage", http.MethodPost, "/message:stream", message, true},
		rpc("GetTask", named, false),
		rpc("SubscribeToTask", named, false),
		rpc("CancelTask", named, true),
		rpc("SendMessage", message, true),
		rpc("SendStreamingMessage", message, true),
	}
}

// Case 57, I10: whatever tenant B asks of tenant A's task, over either binding, is
// answered as for a task that does not exist: the same status, headers and body. It
// leaves no trace on A's task. How long an answer takes is not looked at.
func TestTenantsDoNotMeet(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{build: trial, processes: 4, env: []string{keysOf(), "HOLDFAST_PUBLIC_URL=https://agents.example.com"}})
	ctx := t.Context()
	asking := s.parks("asking", "ask 1", 1)
	ended, err := send(ctx, s.url, withText("ended", "nothing", strings.Repeat("large ", 10_000), false))
	if err != nil || ended.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%+v, %v", ended.Status, err)
	}
	blob := string(lifecycle.DigestBytes([]byte(strings.Repeat("large ", 10_000))))
	traces := func() string { return s.trace(asking) + s.trace(refTo(ended.ID)) }
	before := traces()

	compared := 0
	for _, id := range []a2a.TaskID{asking.Task, ended.ID} {
		nowhere := a2a.NewTaskID()
		for i, q := range questions(id, blob) {
			theirs, err := strangersAnswer(ctx, s.url, q, id)
			if err != nil {
				t.Fatal(err)
			}
			none, err := strangersAnswer(ctx, s.url, questions(nowhere, blob)[i], nowhere)
			if err != nil {
				t.Fatal(err)
			}
			if theirs != none {
				t.Errorf("%s of another tenant's task is answered\n%s\nand of none\n%s", q.name, theirs, none)
			}
			if !strings.Contains(theirs, "TASK_NOT_FOUND") {
				t.Errorf("%s of another tenant's task is answered %s", q.name, theirs)
			}
			compared++
		}
	}
	if after := traces(); after != before {
		t.Errorf("tenant A's tasks were\n%s\nand are\n%s", before, after)
	}

	// It is not the question that is refused: its owner is answered.
	for _, q := range questions(asking.Task, blob) {
		if q.changes || strings.Contains(q.name, "Subscribe") {
			continue
		}
		id := asking.Task
		if strings.Contains(q.name, "blob") {
			id, q = ended.ID, question{name: q.name, method: q.method, path: "/tasks/" + string(ended.ID) + "/blobs/" + blob}
		}
		if own, err := call(ctx, q.method, s.url+q.path, q.body); err != nil || own.status != http.StatusOK || strings.Contains(string(own.body), "NOT_FOUND") {
			t.Errorf("%s of task %s is answered to its owner %s, %v", q.name, id, own, err)
		}
	}

	// Neither a list, nor A's context, nor A's submission key leads there.
	for _, path := range []string{"/tasks", "/tasks?contextId=" + ended.ContextID} {
		a, err := call(ctx, http.MethodGet, s.url+path, "", "Authorization", "Bearer "+strangerKey)
		var page struct {
			Tasks     []a2a.Task `json:"tasks"`
			TotalSize int        `json:"totalSize"`
		}
		if err == nil {
			err = json.Unmarshal(a.body, &page)
		}
		if err != nil || a.status != http.StatusOK || len(page.Tasks)+page.TotalSize != 0 {
			t.Errorf("%s is answered to the other tenant %s, %v", path, a, err)
		}
	}
	var sent struct {
		Task a2a.Task `json:"task"`
	}
	if err := ask(ctx, &sent, http.MethodPost, s.url+"/message:send", text("ended", "nothing else", false), "Authorization", "Bearer "+strangerKey); err != nil || sent.Task.ID == ended.ID {
		t.Errorf("the other tenant's submission under the same key gave task %s, %v", sent.Task.ID, err)
	}
	if after := traces(); after != before {
		t.Errorf("tenant A's tasks were\n%s\nand are\n%s", before, after)
	}
	t.Logf("%d questions were answered alike", compared)
}

// strangersAnswer is the whole answer to the other tenant, without what tells two
// requests apart: the task's ID, the date and the request's own.
func strangersAnswer(ctx context.Context, url string, q question, id a2a.TaskID) (string, error) {
	r, err := newRequest(ctx, q.method, url+q.path, q.body, "Authorization", "Bearer "+strangerKey)
	if err != nil {
		return "", err
	}
	resp, err := caller.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	resp.Header.Del("Date")
	var all strings.Builder
	fmt.Fprintf(&all, "%d\n", resp.StatusCode)
	if err := resp.Header.Write(&all); err != nil {
		return "", err
	}
	all.Write(body)
	return strings.ReplaceAll(all.String(), string(id), "THE-TASK"), nil
}

// trace is all that is kept of a task.
func (s *stack) trace(ref lifecycle.Ref) string {
	s.Helper()
	h, err := verify(s.Context(), s.auth, ref)
	if err != nil {
		s.Fatal(err)
	}
	counts, err := s.ledger.Counts(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	rejections, err := s.ledger.Rejections(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	head, err := json.Marshal(h.Head)
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprintf("%s %+v %+v\n", head, counts, rejections)
}

// withText is the body of a first message with a second text in it.
func withText(messageID, says, more string, immediately bool) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q},{"text":%q}]},"configuration":{"returnImmediately":%t}}`, messageID, says, more, immediately)
}
