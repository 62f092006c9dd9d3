package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// stream is one SubscribeToTask connection with all that came over it.
type stream struct {
	after uint64 // the cursor: what the caller had when it connected
	fresh bool   // it was opened without a cursor

	mu     sync.Mutex
	frames []frame
	done   chan struct{}
	err    error // why it ended; nil when the server ended it. Once done is closed
}

// frame is one server-sent event.
type frame struct {
	id    uint64 // 0: none
	task  bool   // a snapshot of the task
	state string // of a task or a status update
}

// subscribe opens a stream and keeps what comes. A cursor resumes an earlier one.
func (p product) subscribe(ctx context.Context, id string, cursor *uint64) (*stream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.agent()+"/tasks/"+id+":subscribe", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set(versionHeader, "1.0")
	req.Header.Set("Accept", "text/event-stream")
	s := &stream{fresh: cursor == nil, done: make(chan struct{})}
	if cursor != nil {
		s.after = *cursor
		req.Header.Set("Last-Event-ID", strconv.FormatUint(*cursor, 10))
	}
	resp, err := caller.Do(req) //nolint:bodyclose // read on in the background, and closed there
	if err != nil {
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		return nil, errors.Join(fmt.Errorf("subscribing: %s", answer{resp.StatusCode, text}), err, resp.Body.Close())
	}
	go func() {
		defer close(s.done)
		defer func() { _ = resp.Body.Close() }()
		s.err = s.read(resp.Body)
	}()
	return s, nil
}

// read keeps frames until the stream ends. A frame that was cut is none.
func (s *stream) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswerBytes)
	var id, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() != "" && name == "id":
			id = value
		case lines.Text() != "" && name == "data":
			data += value
		case lines.Text() == "" && data != "":
			one, err := parseFrame(id, data)
			if err != nil {
				return err
			}
			s.mu.Lock()
			s.frames = append(s.frames, one)
			s.mu.Unlock()
			id, data = "", ""
		}
	}
	return lines.Err()
}

func parseFrame(id, data string) (frame, error) {
	type status struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	}
	var body struct {
		Task     *status   `json:"task"`
		Status   *status   `json:"statusUpdate"`
		Artifact *struct{} `json:"artifactUpdate"`
	}
	if err := json.Unmarshal([]byte(data), &body); err != nil {
		return frame{}, fmt.Errorf("a frame of the stream: %w", err)
	}
	var one frame
	switch {
	case body.Task != nil:
		one.task, one.state = true, body.Task.Status.State
	case body.Status != nil:
		one.state = body.Status.Status.State
	case body.Artifact == nil:
		return frame{}, fmt.Errorf("a frame of the stream is no StreamResponse: %.200s", data)
	}
	if id == "" {
		return one, nil
	}
	var err error
	if one.id, err = strconv.ParseUint(id, 10, 64); err != nil || one.id == 0 {
		return frame{}, fmt.Errorf("a frame of the stream has the id %q", id)
	}
	return one, nil
}

// kept is what has come so far.
func (s *stream) kept() []frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]frame(nil), s.frames...)
}

// last is the cursor behind everything that has come.
func (s *stream) last() uint64 {
	last := s.after
	for _, f := range s.kept() {
		last = max(last, f.id)
	}
	return last
}

// wait waits until the stream ends, and says how.
func (s *stream) wait(ctx context.Context, what string, needs *process) error {
	return until(ctx, what, needs, func(context.Context) (bool, error) {
		select {
		case <-s.done:
			return true, nil
		default:
			return false, fmt.Errorf("the stream is open and at %d", s.last())
		}
	})
}
