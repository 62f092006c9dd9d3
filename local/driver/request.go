package driver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// versionHeader is A2A-Version as net/http spells it.
const versionHeader = "A2a-Version"

// Object is a JSON object. Go writes its members sorted, which is their canonical order
// (RFC 8785) as long as the names are ASCII.
type Object map[string]any

// Client makes requests and counts them.
type Client struct {
	HTTP     *http.Client
	Requests atomic.Int64
}

// NewClient keeps so many connections open. With none, each request has a connection of
// its own: none is repeated behind the program's back when a process dies.
func NewClient(keep int) *Client {
	return &Client{HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: keep, DisableKeepAlives: keep == 0}}}
}

// Forget drops idle connections: the process at their other end is gone.
func (c *Client) Forget() { c.HTTP.CloseIdleConnections() }

// Open makes one request and leaves its answer to be read. A body that is not bytes is
// written as JSON.
func (c *Client) Open(ctx context.Context, method, url string, body any, headers map[string]string) (*http.Response, error) {
	var content io.Reader = http.NoBody
	raw, is := body.([]byte)
	if !is && body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	if body != nil {
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set(versionHeader, "1.0")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	c.Requests.Add(1)
	return c.HTTP.Do(req)
}

// Ask makes one request.
func (c *Client) Ask(ctx context.Context, method, url string, body any) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	resp, err := c.Open(ctx, method, url, body, nil)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return Answer{resp.StatusCode, text}, err
}

// AskFor makes one request that must succeed, and decodes its answer.
func (c *Client) AskFor(ctx context.Context, method, url string, body, into any) error {
	a, err := c.Ask(ctx, method, url, body)
	if err == nil {
		err = a.Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// Get asks for something that must be there, and decodes it.
func (c *Client) Get(ctx context.Context, url string, into any) error {
	return c.AskFor(ctx, http.MethodGet, url, nil, into)
}

// Answer is what came back.
type Answer struct {
	Status int
	Body   []byte
}

// Decode reads the answer to a request that must have succeeded.
func (a Answer) Decode(into any) error {
	if a.Status != http.StatusOK {
		return errors.New(a.String())
	}
	return json.Unmarshal(a.Body, into)
}

// problem is what an error says of itself (google.rpc.Status).
type problem struct {
	Error struct {
		Message string `json:"message"`
		Details []struct {
			Reason string `json:"reason"`
		} `json:"details"`
	} `json:"error"`
}

// Reason is an error's reason for machines; empty for an answer that is none.
func (a Answer) Reason() string {
	var p problem
	if a.Status == http.StatusOK || json.Unmarshal(a.Body, &p) != nil {
		return ""
	}
	return cmp.Or(p.reason(), fmt.Sprintf("HTTP %d", a.Status))
}

func (p problem) reason() string {
	for _, d := range p.Error.Details {
		if d.Reason != "" {
			return d.Reason
		}
	}
	return ""
}

// String is the answer in short: its status, and what an error says of itself.
func (a Answer) String() string {
	if a.Status == http.StatusOK {
		return "200"
	}
	var p problem
	if json.Unmarshal(a.Body, &p) != nil || p.Error.Message == "" {
		return fmt.Sprintf("%d %.200q", a.Status, a.Body)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, p.reason())) + ": " + p.Error.Message
}

// RefusedFor is an error unless the answer is a refusal for a reason.
func (a Answer) RefusedFor(what, reason string) error {
	if a.Reason() != reason {
		return fmt.Errorf("%s: %s, want it refused for %s", what, a, reason)
	}
	return nil
}

// Sent decodes the task in the answer to a message.
func Sent[T any](a Answer) (task T, err error) {
	var sent struct {
		Task json.RawMessage `json:"task"`
	}
	var named struct {
		ID string `json:"id"`
	}
	if err := a.Decode(&sent); err != nil {
		return task, err
	}
	if json.Unmarshal(sent.Task, &named) != nil || named.ID == "" {
		return task, fmt.Errorf("the answer to a message is no task: %.200s", a.Body)
	}
	return task, json.Unmarshal(sent.Task, &task)
}
