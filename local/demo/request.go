package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// caller makes requests, each on a connection of its own: none is repeated behind
// the driver's back when a process dies.
var caller = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// versionHeader is A2A-Version as net/http spells it.
const versionHeader = "A2a-Version"

// answer is what came back.
type answer struct {
	status int
	body   []byte
}

// ask makes one request. A body is sent as JSON.
func ask(ctx context.Context, method, url string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set(versionHeader, "1.0")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := caller.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return answer{resp.StatusCode, text}, err
}

// askFor makes one request that must succeed, and decodes its answer.
func askFor(ctx context.Context, method, url string, body []byte, into any) error {
	a, err := ask(ctx, method, url, body)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, a)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}

// String is the answer in short: its status, and what an error says of itself.
func (a answer) String() string {
	if a.status == http.StatusOK {
		return "200"
	}
	var problem struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(a.body, &problem); err != nil || problem.Error.Message == "" {
		return fmt.Sprintf("%d %.200q", a.status, a.body)
	}
	reason := ""
	for _, d := range problem.Error.Details {
		if d.Reason != "" {
			reason = " " + d.Reason
			break
		}
	}
	return fmt.Sprintf("%d%s: %s", a.status, reason, problem.Error.Message)
}

// task decodes the answer to SendMessage.
func (a answer) task() (task, error) {
	var sent struct {
		Task *task `json:"task"`
	}
	if a.status != http.StatusOK {
		return task{}, errors.New(a.String())
	}
	if err := json.Unmarshal(a.body, &sent); err != nil {
		return task{}, err
	}
	if sent.Task == nil || sent.Task.ID == "" {
		return task{}, fmt.Errorf("the answer to a message is no task: %.200s", a.body)
	}
	return *sent.Task, nil
}
