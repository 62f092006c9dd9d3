package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// object is a JSON object. Go writes its members sorted, which is their canonical
// order (RFC 8785) as long as the names are ASCII.
type object map[string]any

// client makes requests and counts them.
type client struct {
	http     *http.Client
	requests atomic.Int64
}

func newClient() *client {
	return &client{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8 * lanes}}}
}

// forget drops idle connections: the process at their other end is gone.
func (c *client) forget() { c.http.CloseIdleConnections() }

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

// ask makes one request. A body is sent as JSON.
func (c *client) ask(ctx context.Context, method, url string, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	resp, err := c.open(ctx, method, url, body, nil)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return answer{resp.StatusCode, text}, err
}

// open makes one request and leaves its answer to be read.
func (c *client) open(ctx context.Context, method, url string, body any, headers map[string]string) (*http.Response, error) {
	var content io.Reader = http.NoBody
	if raw, is := body.([]byte); is {
		content = bytes.NewReader(raw)
	} else if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("A2A-Version", "1.0")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	c.requests.Add(1)
	return c.http.Do(req)
}

// get asks for something that must be there, and decodes it.
func (c *client) get(ctx context.Context, url string, into any) error {
	a, err := c.ask(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if err := a.decode(into); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}

// decode reads the answer to a request that must have succeeded.
func (a answer) decode(into any) error {
	if a.status != http.StatusOK {
		return errors.New(a.String())
	}
	return json.Unmarshal(a.body, into)
}

// problem is what an error says of itself.
type problem struct {
	Error struct {
		Message string `json:"message"`
		Details []struct {
			Reason string `json:"reason"`
		} `json:"details"`
	} `json:"error"`
}

// reason is an error's reason for machines; empty for an answer that is none.
func (a answer) reason() string {
	var p problem
	if a.status == http.StatusOK || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	for _, d := range p.Error.Details {
		if d.Reason != "" {
			return d.Reason
		}
	}
	return fmt.Sprintf("HTTP %d", a.status)
}

// String is the answer in short: its status, and what an error says of itself.
func (a answer) String() string {
	if a.status == http.StatusOK {
		return "200"
	}
	var p problem
	if json.Unmarshal(a.body, &p) != nil || p.Error.Message == "" {
		return fmt.Sprintf("%d %.200q", a.status, a.body)
	}
	return fmt.Sprintf("%d %s: %s", a.status, a.reason(), p.Error.Message)
}

// refusedFor is an error unless the answer is a refusal for a reason.
func (a answer) refusedFor(what, reason string) error {
	if a.reason() != reason {
		return fmt.Errorf("%s: %s, want it refused for %s", what, a, reason)
	}
	return nil
}
