package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// crowd is one receiver of many tasks' webhooks. It only notes when they arrive: an
// act of its own looks at each of them.
type crowd struct {
	url    string
	server *http.Server
	takes  time.Duration // for each update

	mu       sync.Mutex
	arrivals map[string]map[uint64]time.Time // by task and sequence
	last     map[string]uint64
	ended    map[string]bool
	taken    int
	wrong    error
}

func openCrowd(ctx context.Context, takes time.Duration) (*crowd, error) {
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	c := &crowd{
		url: "http://" + listener.Addr().String() + "/hook", takes: takes,
		arrivals: map[string]map[uint64]time.Time{}, last: map[string]uint64{}, ended: map[string]bool{},
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: requestTime}
	go func() { _ = c.server.Serve(listener) }() // until it is shut
	return c, nil
}

func (c *crowd) shut() { _ = c.server.Close() }

// ServeHTTP implements http.Handler.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes))
	if err != nil {
		return // its sender was killed
	}
	if !c.note(r.Header, body, at) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if c.takes > 0 {
		wait := time.NewTimer(c.takes)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-r.Context().Done():
			return
		}
	}
	c.mu.Lock()
	c.taken++
	c.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (c *crowd) note(header http.Header, body []byte, at time.Time) bool {
	var update struct {
		StatusUpdate struct {
			TaskID string `json:"taskId"`
			Status struct {
				State string `json:"state"`
			} `json:"status"`
		} `json:"statusUpdate"`
	}
	seq, err := strconv.ParseUint(header.Get("Holdfast-Sequence"), 10, 64)
	if err == nil {
		err = json.Unmarshal(body, &update)
	}
	task := update.StatusUpdate.TaskID
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || task == "" || seq < c.last[task] {
		c.wrong = fmt.Errorf("a webhook of task %q, sequence %d after %d: %w", task, seq, c.last[task], err)
		return false
	}
	if c.arrivals[task] == nil {
		c.arrivals[task] = map[uint64]time.Time{}
	}
	if _, again := c.arrivals[task][seq]; !again {
		c.arrivals[task][seq] = at
	}
	c.last[task] = seq
	if update.StatusUpdate.Status.State == stateCompleted {
		c.ended[task] = true
	}
	return true
}

// ends counts the tasks whose end has arrived.
func (c *crowd) ends() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ended), c.wrong
}

// of is when each update of a task arrived first.
func (c *crowd) of(task string) map[uint64]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrivals[task]
}

// total counts the updates that were taken.
func (c *crowd) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}
