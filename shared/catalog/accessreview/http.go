package accessreview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// maxAnswerBytes bounds an answer of the API: tens of thousands of grants.
const maxAnswerBytes = 8 << 20

// HTTP is the systems' API over HTTP, as the package comment of local/systems
// describes it.
type HTTP struct {
	BaseURL string
	// Client makes the requests; nil means one that follows no redirects. The
	// contexts of the calls bound their time.
	Client *http.Client
}

// List implements Systems.
func (h HTTP) List(ctx context.Context) ([]System, error) {
	var answer struct {
		Systems []System `json:"systems"`
	}
	_, err := h.do(ctx, call{what: "list the systems", method: http.MethodGet, path: "/systems"}, &answer)
	return answer.Systems, err
}

// Grants implements Systems.
func (h HTTP) Grants(ctx context.Context, system string) ([]Grant, error) {
	var answer struct {
		Grants []Grant `json:"grants"`
	}
	status, err := h.do(ctx, call{
		what: "fetch the grants of " + system, method: http.MethodGet, path: "/systems/" + url.PathEscape(system) + "/grants",
	}, &answer)
	if status == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %w", ErrUnknownSystem, err)
	}
	return answer.Grants, err
}

// Revoke implements Systems.
func (h HTTP) Revoke(ctx context.Context, key string, g Revocation) (string, error) {
	c := call{what: "revoke a grant in " + g.System, method: http.MethodPost, path: "/systems/" + url.PathEscape(g.System) + "/revocations", key: key}
	body, err := json.Marshal(struct {
		Account string `json:"account"`
		Role    string `json:"role"`
	}{g.Account, g.Role})
	if err != nil {
		return "", agent.Permanent(agent.NotDone(err))
	}
	c.body = body
	var answer struct {
		Revocation string `json:"revocation"`
	}
	if _, err := h.do(ctx, c, &answer); err != nil {
		return "", err
	}
	if answer.Revocation == "" {
		return "", fmt.Errorf("%s: the answer names no revocation", c.what)
	}
	return answer.Revocation, nil
}

// call is one request.
type call struct {
	what         string // for errors
	method, path string
	key          string // Idempotency-Key
	body         []byte
}

// do makes a request and decodes its answer. Its errors say whether something may
// have been done and whether a repetition can help.
func (h HTTP) do(ctx context.Context, c call, into any) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, c.method, h.BaseURL+c.path, bytes.NewReader(c.body))
	if err != nil {
		return 0, agent.Permanent(agent.NotDone(fmt.Errorf("%s: %w", c.what, err)))
	}
	if c.body != nil {
		req.Header.Set("Content-Type", mediaJSON)
	}
	if c.key != "" {
		req.Header.Set("Idempotency-Key", c.key)
	}
	client := h.Client
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, unanswered(c, err)
	}
	defer func() { _ = resp.Body.Close() }() // what was read is what counts
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, declined(c, resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return resp.StatusCode, fmt.Errorf("%s: the answer broke off: %w", c.what, err)
	case len(raw) > maxAnswerBytes:
		return resp.StatusCode, agent.Permanent(fmt.Errorf("%s: the answer is larger than %d bytes", c.what, maxAnswerBytes))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return resp.StatusCode, fmt.Errorf("%s: the answer is not what was expected: %w", c.what, err)
	}
	return resp.StatusCode, nil
}

// unanswered is the error of a request that got no answer. Nothing was done when
// there was no connection; otherwise nobody knows.
func unanswered(c call, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // without the address
	}
	out := fmt.Errorf("%s: %w", c.what, err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return agent.NotDone(out)
	}
	return out
}

// declined is the error of an answer that is not 200.
func declined(c call, resp *http.Response) error {
	var answer struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	err := fmt.Errorf("%s: status %d", c.what, resp.StatusCode)
	raw, readErr := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if readErr == nil && json.Unmarshal(raw, &answer) == nil && answer.Error.Message != "" {
		err = fmt.Errorf("%s: status %d, %s: %s", c.what, resp.StatusCode, answer.Error.Code, answer.Error.Message)
	}
	switch s := resp.StatusCode; {
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		return agent.NotDone(err)
	case s >= 500:
		return err // it may have been done
	default:
		return agent.Permanent(agent.NotDone(err))
	}
}
