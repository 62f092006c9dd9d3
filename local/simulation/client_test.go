package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// client is somebody who calls a door under one key.
type client struct {
	w      *world
	who    string // unique among all actors
	tenant string
	mark   string
	key    string
	dice   *rand.Rand
}

// as is the client under another name, for what it does beside.
func (c *client) as(name string) *client {
	out := *c
	out.who = c.who + "/" + name
	out.dice = diceOf(c.w.seed, out.who)
	return &out
}

// reply is an answer that came.
type reply struct {
	status int
	reason string
	body   []byte
}

func (r reply) ok() bool { return r.status == http.StatusOK }

// into reads the answer.
func (r reply) into(v any) error { return json.Unmarshal(r.body, v) }

// request makes a request of the client's.
func (c *client) request(ctx context.Context, method, path, body string, headers ...string) (*http.Request, error) {
	ctx = context.WithValue(ctx, onBehalf{}, c.who)
	r, err := http.NewRequestWithContext(ctx, method, "http://holdfast"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("X-API-Key", c.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r, nil
}

// patience is how long a client waits for an answer.
const patience = time.Minute

// do makes a request and reads the answer. An error means that none came.
func (c *client) do(method, path, body string, headers ...string) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.request(ctx, method, path, body, headers...)
	if err != nil {
		return reply{}, err
	}
	resp, err := (&network{c.w}).RoundTrip(r)
	if err != nil {
		return reply{}, err
	}
	return c.read(r, resp)
}

func (c *client) read(r *http.Request, resp *http.Response) (reply, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return reply{}, err
	}
	out := reply{status: resp.StatusCode, body: body}
	if resp.StatusCode != http.StatusOK {
		out.reason = reasonOf(body)
	}
	c.w.foreign(c.mark, body, r.Method+" "+r.URL.Path)
	if out.status >= http.StatusInternalServerError && out.status != http.StatusServiceUnavailable {
		c.w.broken("api", "%s: %s %s: %d %s", c.who, r.Method, r.URL.Path, out.status, body)
	}
	return out, nil
}

// reasonOf is the reason in an error's details.
func reasonOf(body []byte) string {
	var e struct {
		Error struct {
			Reason  string // at the console
			Details []struct{ Reason string }
		}
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&e) == nil {
		for _, d := range e.Error.Details {
			if d.Reason != "" {
				return d.Reason
			}
		}
	}
	return e.Error.Reason
}

// refusedAs holds a refusal against those that a request may meet. Trouble is always
// among them.
func (c *client) refusedAs(r reply, what string, reasons ...string) {
	if r.ok() || r.status == http.StatusServiceUnavailable {
		return
	}
	if slices.Contains(reasons, r.reason) {
		return
	}
	c.w.broken("api", "%s: %s was refused: %d %s", c.who, what, r.status, r.body)
}

// shown is a task or an update as a client sees it.
type shown struct {
	ID     a2a.TaskID `json:"id"`
	Task   a2a.TaskID `json:"taskId"`
	Status struct {
		State a2a.TaskState `json:"state"`
	} `json:"status"`
	Metadata map[string]own `json:"metadata"`
}

// own is what the extension says.
type own struct {
	Sequence  uint64 `json:"sequence"`
	Digest    string `json:"digest"`
	Replay    bool   `json:"replay"`
	Pause     int    `json:"pause"`
	Challenge *struct {
		Number   int    `json:"number"`
		Action   string `json:"action"`
		Audience string `json:"audience"`
	} `json:"challenge"`
}

func (s shown) own() own { return s.Metadata[lifecycle.ExtensionURI] }

// seen is what a client knows of a task: later answers are not older.
type seen struct {
	mu  sync.Mutex
	seq uint64
}

func (s *seen) floor() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// task takes a task that was answered to a request which began when the floor was
// known: it is committed, it says of itself what the ledger says of that entry, and it
// is not older than what was known.
func (c *client) task(ref lifecycle.Ref, s shown, known *seen, floor uint64) {
	if s.ID != ref.Task {
		c.w.broken("api", "%s asked for task %s and got %s", c.who, ref.Task, s.ID)
		return
	}
	o := s.own()
	if state := c.w.committed(ref, o.Sequence, o.Digest); state != "" && state != s.Status.State {
		c.w.broken("I4", "task %s was seen as %s at entry %d, it is %s there", ref, s.Status.State, o.Sequence, state)
	}
	if o.Sequence < floor {
		c.w.broken("I4", "%s saw task %s at entry %d after entry %d", c.who, ref, o.Sequence, floor)
	}
	known.mu.Lock()
	known.seq = max(known.seq, o.Sequence)
	known.mu.Unlock()
}

// pause lets some time pass, at most so much.
func (c *client) pause(most time.Duration) {
	<-time.NewTimer(time.Duration(1 + c.dice.Int64N(int64(most)))).C
}
