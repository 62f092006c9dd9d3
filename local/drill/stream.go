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
	cut context.CancelFunc

	mu     sync.Mutex
	frames []frame
	done   chan struct{}
	err    error // why it ended; nil when the server ended it. Once done is closed
}

// frame is one server-sent event: the task, or an update of it.
type frame struct {
	id uint64 // 0: none

	Task   *task `json:"task"`
	Status *struct {
		Status   status   `json:"status"`
		Metadata metadata `json:"metadata"`
	} `json:"statusUpdate"`
	Artifact *struct {
		Artifact  artifact `json:"artifact"`
		Append    bool     `json:"append"`
		LastChunk bool     `json:"lastChunk"`
		Metadata  metadata `json:"metadata"`
	} `json:"artifactUpdate"`
}

// own is what the product says of a frame.
func (f frame) own() metadata {
	switch {
	case f.Task != nil:
		return f.Task.Metadata
	case f.Status != nil:
		return f.Status.Metadata
	case f.Artifact != nil:
		return f.Artifact.Metadata
	}
	return metadata{}
}

// subscribe opens a stream. What the caller says that it has is its cursor; nil says
// that it has nothing.
func (d door) subscribe(ctx context.Context, id string, has object) (*stream, error) {
	ctx, cut := context.WithCancel(ctx)
	var body any
	if has != nil {
		body = object{"metadata": object{extensionURI: has}}
	}
	resp, err := d.open(ctx, http.MethodPost, d.url+"/tasks/"+id+":subscribe", body, map[string]string{"Accept": "text/event-stream"}) //nolint:bodyclose // read on in the background, and closed there
	if err != nil {
		cut()
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		cut()
		return nil, errors.Join(fmt.Errorf("subscribing: %s", answer{resp.StatusCode, text}), err, resp.Body.Close())
	}
	s := &stream{cut: cut, done: make(chan struct{})}
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
	var one frame
	if err := json.Unmarshal([]byte(data), &one); err != nil {
		return frame{}, fmt.Errorf("a frame of the stream: %w", err)
	}
	if one.Task == nil && one.Status == nil && one.Artifact == nil {
		return frame{}, fmt.Errorf("a frame of the stream is no StreamResponse: %.200s", data)
	}
	if id == "" {
		return one, nil
	}
	var err error
	if one.id, err = strconv.ParseUint(id, 10, 64); err != nil || one.id == 0 || one.id != one.own().Own.Sequence {
		return frame{}, fmt.Errorf("a frame of sequence %d has the id %q", one.own().Own.Sequence, id)
	}
	return one, nil
}

// kept is what has come so far.
func (s *stream) kept() []frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]frame(nil), s.frames...)
}

// ids lists the sequences of the updates that have come, behind the task with which
// the stream began. They must ascend.
func (s *stream) ids() ([]uint64, error) {
	frames := s.kept()
	if len(frames) == 0 || frames[0].Task == nil {
		return nil, errors.New("a stream did not begin with the task")
	}
	ids := []uint64{}
	last := uint64(0)
	for _, f := range frames[1:] {
		if f.Task != nil || f.id <= last {
			return nil, fmt.Errorf("id %d came after %d", f.id, last)
		}
		last = f.id
		ids = append(ids, f.id)
	}
	return ids, nil
}

// last is the sequence of the last frame.
func (s *stream) last() uint64 {
	frames := s.kept()
	if len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1].own().Own.Sequence
}

// reaches waits until an update has come.
func (s *stream) reaches(ctx context.Context, seq uint64, needs *process) error {
	return until(ctx, fmt.Sprintf("a stream brings update %d", seq), needs, func(context.Context) (bool, error) {
		select {
		case <-s.done:
			return s.last() >= seq, errors.Join(fmt.Errorf("it ended at %d", s.last()), s.err)
		default:
			return s.last() >= seq, fmt.Errorf("it is at %d", s.last())
		}
	})
}

// ends waits until the server ends the stream.
func (s *stream) ends(ctx context.Context, needs *process) error {
	err := until(ctx, "a stream ends", needs, func(context.Context) (bool, error) {
		select {
		case <-s.done:
			return true, nil
		default:
			return false, fmt.Errorf("it is open and at %d", s.last())
		}
	})
	if err == nil && s.err != nil {
		err = fmt.Errorf("a stream broke: %w", s.err)
	}
	return err
}
