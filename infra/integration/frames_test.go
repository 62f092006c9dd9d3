package integration_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// frame is one server-sent event.
type frame struct {
	id    uint64 // 0: none
	task  bool   // a snapshot of the task
	state a2a.TaskState
	says  string
	body  []byte
	at    time.Time // of its arrival
}

// subscription is an open stream.
type subscription struct {
	body  io.Closer
	lines *bufio.Scanner
	stop  context.CancelFunc
	err   error // why it ended, nil when the server ended it
}

// open begins a stream.
func open(ctx context.Context, url, body string, headers ...string) (*subscription, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	r, err := newRequest(ctx, http.MethodPost, url, body, headers...)
	if err != nil {
		stop()
		return nil, err
	}
	resp, err := caller.Do(r)
	if err != nil {
		stop()
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		stop()
		_ = resp.Body.Close()
		return nil, fmt.Errorf("no stream: %s %s", kind, answer{resp.StatusCode, text})
	}
	s := &subscription{body: resp.Body, lines: bufio.NewScanner(resp.Body), stop: stop}
	s.lines.Buffer(nil, 16<<20)
	return s, nil
}

// resume opens a stream behind a sequence.
func resume(ctx context.Context, agent string, id a2a.TaskID, after uint64) (*subscription, error) {
	return open(ctx, agent+"/tasks/"+string(id)+":subscribe", "", "Last-Event-ID", strconv.FormatUint(after, 10))
}

// next is the next frame; false when the stream has ended. A frame that was cut is none.
func (s *subscription) next() (frame, bool) {
	var id, data string
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case s.lines.Text() == "" && data != "":
			f, err := parseFrame(id, data)
			if err != nil {
				s.err = err
				return f, false
			}
			return f, true
		case name == "id":
			id = value
		case name == "data":
			data += value
		}
	}
	s.err = s.lines.Err()
	return frame{}, false
}

// close cuts the stream from the caller's side.
func (s *subscription) close() {
	s.stop()
	_ = s.body.Close()
}

func parseFrame(id, data string) (frame, error) {
	type status struct {
		Status struct {
			State   a2a.TaskState `json:"state"`
			Message *a2a.Message  `json:"message"`
		} `json:"status"`
	}
	var body struct {
		Task   *status `json:"task"`
		Update *status `json:"statusUpdate"`
	}
	f := frame{at: time.Now(), body: []byte(data)}
	if err := json.Unmarshal(f.body, &body); err != nil {
		return f, fmt.Errorf("a frame: %w", err)
	}
	is := body.Update
	if f.task = body.Task != nil; f.task {
		is = body.Task
	}
	if is != nil {
		f.state = is.Status.State
		if m := is.Status.Message; m != nil && len(m.Parts) > 0 {
			f.says = m.Parts[0].Text()
		}
	}
	if id == "" {
		return f, nil
	}
	var err error
	f.id, err = strconv.ParseUint(id, 10, 64)
	return f, err
}
