package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// stream is one SubscribeToTask connection with all that came over it.
type stream struct {
	*driver.Stream[frame]

	after uint64 // the cursor: what the caller had when it connected
	fresh bool   // it was opened without a cursor
}

// frame is one server-sent event.
type frame struct {
	id    uint64 // 0: none
	task  bool   // a snapshot of the task
	state string // of a task or a status update
}

// subscribe opens a stream and keeps what comes. A cursor resumes an earlier one.
func (p product) subscribe(ctx context.Context, id string, cursor *uint64) (*stream, error) {
	s := &stream{fresh: cursor == nil}
	headers := map[string]string{}
	if cursor != nil {
		s.after = *cursor
		headers["Last-Event-ID"] = strconv.FormatUint(*cursor, 10)
	}
	var err error
	s.Stream, err = driver.Follow(ctx, caller, p.agent()+"/tasks/"+id+":subscribe", nil, headers, parseFrame)
	return s, err
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

// last is the cursor behind everything that has come.
func (s *stream) last() uint64 {
	last := s.after
	for _, f := range s.Kept() {
		last = max(last, f.id)
	}
	return last
}

// wait waits until the stream ends, and says how.
func (s *stream) wait(ctx context.Context, what string, needs *process) error {
	return until(ctx, what, needs, func(context.Context) (bool, error) {
		return s.Ended(), fmt.Errorf("the stream is open and at %d", s.last())
	})
}
