package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// versionHeader is A2A-Version as net/http spells it.
const versionHeader = "A2a-Version"

// Client follows the tasks of one agent. Everything but BaseURL may be left zero.
type Client struct {
	// BaseURL is the server's address, such as http://127.0.0.1:8080.
	BaseURL string
	// Agent is the agent's name; empty is the server's default one.
	Agent string
	// HTTP must have no overall timeout: streams are long.
	HTTP *http.Client
	// Patience is how long the server may stay without an answer; 5 minutes when zero.
	Patience time.Duration
	// Silence is how long an open stream may stay without a byte before it is given
	// up; 45 seconds when zero.
	Silence time.Duration
	// Retrying is told why and for how long the client waits before it connects again
	// after a failure.
	Retrying func(why error, delay time.Duration)

	// Now, Sleep and Rand are the clock and the jitter.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	Rand  func() float64
}

// complete fills in what was left zero.
func (c Client) complete() Client {
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Retrying == nil {
		c.Retrying = func(error, time.Duration) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.Silence = cmp.Or(c.Silence, defaultSilence)
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Task reads a task as it is now. A *Refusal says why the server does not show it.
func (c Client) Task(ctx context.Context, task a2a.TaskID) (*a2a.Task, error) {
	c = c.complete()
	t, _, err := c.task(ctx, task)
	return t, err
}

// task reads a task, which is also an update of its own.
func (c Client) task(ctx context.Context, task a2a.TaskID) (*a2a.Task, Update, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Silence)
	defer cancel()
	resp, err := c.get(ctx, task, "", "application/a2a+json, application/json", nil)
	if err != nil {
		return nil, Update{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFrameBytes))
	if err != nil {
		return nil, Update{}, err
	}
	var t a2a.Task
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, Update{}, fmt.Errorf("%w: the task cannot be read: %w", errForeign, err)
	}
	raw, err := json.Marshal(map[string]json.RawMessage{"task": body})
	return &t, Update{Seq: ownMetadata(&t).Sequence, Event: &t, Raw: raw}, err
}

// get asks for something of a task; verb is empty for the task itself. The caller
// closes the body. An answer other than 200 is a *Refusal.
func (c Client) get(ctx context.Context, task a2a.TaskID, verb, accept string, header http.Header) (*http.Response, error) {
	if task == "" {
		return nil, fmt.Errorf("%w: it needs a task ID", errRequest)
	}
	address := c.agentURL() + "/tasks/" + url.PathEscape(string(task)) + verb
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRequest, err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set(versionHeader, string(a2a.Version))
	req.Header.Set("Accept", accept)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		return nil, readRefusal(resp)
	}
	return resp, nil
}

// agentURL is the address of the agent.
func (c Client) agentURL() string {
	address := strings.TrimRight(c.BaseURL, "/")
	if c.Agent != "" {
		address += "/" + url.PathEscape(c.Agent)
	}
	return address
}

// subscribe opens a stream behind a sequence. The caller closes the body.
func (c Client) subscribe(ctx context.Context, task a2a.TaskID, after uint64) (*http.Response, error) {
	resp, err := c.get(ctx, task, ":subscribe", "text/event-stream", http.Header{
		"Last-Event-Id": {strconv.FormatUint(after, 10)},
	})
	if err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "text/event-stream" {
		return nil, errors.Join(fmt.Errorf("%w: the answer is %q", errForeign, kind), resp.Body.Close())
	}
	return resp, nil
}
