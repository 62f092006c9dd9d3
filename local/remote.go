package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// remote is a task at a running server, as an operator reaches it.
type remote struct {
	server string
	agent  string // empty: the default one, or whichever has the task
	task   a2a.TaskID
}

// refusedByServer is a server's error, in its own words.
type refusedByServer struct {
	server, message string
	status          int
}

func (r *refusedByServer) Error() string {
	return fmt.Sprintf("the server at %s refuses: %s", r.server, r.message)
}

// send asks for something below the task's address. Where no agent was named and the
// default one does not have the task, the console says which one does. The error is a
// *refusedByServer when the server answered with one.
func (r remote) send(ctx context.Context, method, below string, body []byte) (*http.Response, error) {
	resp, err := r.sendTo(ctx, r.agent, method, below, body)
	refused, is := errors.AsType[*refusedByServer](err)
	if !is || refused.status != http.StatusNotFound || r.agent != "" {
		return resp, err
	}
	agent, known := r.whose(ctx)
	switch {
	case agent != "":
		return r.sendTo(ctx, agent, method, below, body)
	case !known:
		refused.message += " (the server's default agent was asked: name another one with --agent)"
	}
	return nil, refused
}

func (r remote) sendTo(ctx context.Context, agent, method, below string, body []byte) (*http.Response, error) {
	address := ""
	if agent != "" {
		address = "/" + url.PathEscape(agent)
	}
	resp, err := r.do(ctx, method, address+"/tasks/"+url.PathEscape(string(r.task))+below, body)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, r.refused(resp)
}

func (r remote) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(r.server, "/")+path, bytes.NewReader(body)) //nolint:gosec // G704: whoever runs this names the server
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	presentKey(req)
	return http.DefaultClient.Do(req) //nolint:gosec // G704: as above
}

// whose asks the console for the task's agent. Not known: it does not say.
func (r remote) whose(ctx context.Context) (agent string, known bool) {
	resp, err := r.do(ctx, http.MethodGet, "/console/api/tasks/"+url.PathEscape(string(r.task)), nil)
	if err != nil {
		return "", false
	}
	defer func() { _ = resp.Body.Close() }()
	var task struct {
		Head struct{ Agent string }
	}
	if json.NewDecoder(resp.Body).Decode(&task) != nil {
		return "", false
	}
	return task.Head.Agent, resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound
}

// presentKey shows a server the operator's key, if the environment has one. It is no
// flag: command lines are seen by others.
func presentKey(req *http.Request) {
	if key := os.Getenv("HOLDFAST_KEY"); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
}

func (r remote) refused(resp *http.Response) *refusedByServer {
	const longest = 64 << 10
	out := &refusedByServer{server: r.server, message: resp.Status, status: resp.StatusCode}
	var answer struct {
		Error struct{ Message string }
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	if err == nil && json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		out.message = printable(answer.Error.Message)
	}
	return out
}
