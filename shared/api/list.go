package api

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of a page (A2A §3.1.4).
const (
	maxPageSize     = 100
	defaultPageSize = 50
	// maxTokenBytes is more than any token of ours has.
	maxTokenBytes = 1 << 10
)

// taskList is a ListTasksResponse: every field is always there.
type taskList struct {
	Tasks         []*wireTask `json:"tasks"`
	NextPageToken string      `json:"nextPageToken"`
	PageSize      int         `json:"pageSize"`
	TotalSize     int         `json:"totalSize"`
}

// listTasks answers with a page of tasks, latest status first. It counts once for
// a listing: the total rides in the token.
func (c *call) listTasks(q request) { c.answer(c.list(q)) }

func (c *call) list(q request) (taskList, error) {
	out := taskList{Tasks: []*wireTask{}, PageSize: defaultPageSize}
	if q.pageSize != nil {
		out.PageSize = *q.pageSize
	}
	query := ledger.ListQuery{
		Tenant: c.who.Tenant, Agent: c.agent.Name, ContextID: q.contextID, State: q.state, Since: q.since,
		Now: c.Now(), Limit: out.PageSize,
	}
	filter := filterOf(query)
	ctx := c.r.Context()
	if q.pageToken == "" {
		total, err := c.Authority.Ledger.Count(ctx, query)
		if err != nil {
			return out, err
		}
		out.TotalSize = total.Tasks
	} else {
		token, err := c.readToken(q.pageToken, filter)
		if err != nil {
			return out, err
		}
		out.TotalSize, query.After = token.Total, &ledger.ListCursor{StatusAt: token.At, Task: token.Task}
	}
	page, err := c.Authority.Ledger.List(ctx, query)
	if err != nil {
		return out, err
	}
	for _, h := range page.Heads {
		task, err := c.listed(h, q)
		if err != nil {
			return out, err
		}
		if task != nil {
			out.Tasks = append(out.Tasks, task)
		}
	}
	if page.Next != nil {
		out.NextPageToken, err = c.writeToken(pageToken{At: page.Next.StatusAt, Task: page.Next.Task, Total: out.TotalSize, Filter: filter})
	}
	return out, err
}

// listed is a task as of the head that was found: the page's order and filters
// hold for it even if it has moved on. nil: it was purged a moment ago.
func (c *call) listed(h lifecycle.Head, q request) (*wireTask, error) {
	f := c.follow(h.Task)
	entries, err := c.Authority.Ledger.Entries(c.r.Context(), f.ref, 0, int(h.Seq))
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	if err := f.intact(c.r.Context(), f.add(entries, nil)); errors.Is(err, a2a.ErrTaskNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	history := q.history
	if history == nil {
		history = new(0) // the default of a list is none (§3.2.4)
	}
	whole := f.view.Task()
	task := wireTaskOf(whole, history)
	task.Artifacts = nil
	if q.artifacts {
		task.Artifacts = &whole.Artifacts
	}
	return task, nil
}

// pageToken is where a listing goes on. It is opaque to callers, cannot be made or
// changed by them, and is good only with the filters that it was made for, the
// caller's tenant among them.
type pageToken struct {
	At     time.Time        `json:"a"`
	Task   a2a.TaskID       `json:"t"`
	Total  int              `json:"n"`
	Filter lifecycle.Digest `json:"f"`
}

func filterOf(q ledger.ListQuery) lifecycle.Digest {
	return lifecycle.DigestOf("holdfast-list-1", q.Tenant, q.Agent, q.ContextID, string(q.State), q.Since.UTC().Format(time.RFC3339Nano))
}

// codeBytes are the first ones of a token: the code over the rest. 128 bits cannot be
// guessed.
const codeBytes = 16

func (c *call) writeToken(t pageToken) (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	code, err := c.Keys.Code(c.r.Context(), b)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(code[:codeBytes:codeBytes], b...)), nil
}

func (c *call) readToken(s string, filter lifecycle.Digest) (pageToken, error) {
	var t pageToken
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(s) > maxTokenBytes || len(b) < codeBytes {
		return t, badToken("is not one that this agent gave out")
	}
	code, err := c.Keys.Code(c.r.Context(), b[codeBytes:])
	if err != nil {
		return t, err
	}
	if !hmac.Equal(code[:codeBytes], b[:codeBytes]) || json.Unmarshal(b[codeBytes:], &t) != nil {
		return t, badToken("is not one that this agent gave out")
	}
	if t.Filter != filter {
		return t, badToken("was given out for other filters; begin the listing anew")
	}
	return t, nil
}

func badToken(description string) error {
	r := reader{}
	r.wrong("pageToken", "%s", description)
	return r.err()
}
