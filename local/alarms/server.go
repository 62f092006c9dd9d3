package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// object is a JSON object.
type object = driver.Object

// until waits for a condition.
func until(ctx context.Context, what string, holds func(context.Context) (bool, error), needs ...*driver.Process) error {
	return driver.Until(ctx, driver.Wait{What: what, Limit: waitTime, Every: lookEvery, Needs: needs}, holds)
}

// server is a server that is watched: a process with a folder, or functions on AWS.
type server struct {
	dir     string // of its logs
	name    string
	binary  string
	addr    string
	data    string
	key     string // that it wants to be shown
	metrics []string
	process *driver.Process
}

func newServer(ctx context.Context, dir, name, binary string) (*server, error) {
	addrs, err := driver.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, name: name, binary: binary, addr: addrs[0], data: filepath.Join(dir, name+"-data")}
	s.metrics = []string{filepath.Join(dir, name+"-metrics.ndjson")}
	return s, os.MkdirAll(s.data, 0o700)
}

func (s *server) url() string { return "http://" + s.addr }

// serve starts the process, and returns when it answers.
func (s *server) serve(ctx context.Context, flags ...string) error {
	args := append([]string{"serve", "--addr", s.addr, "--data", s.data, "--metrics", s.metrics[0], "--health-late", late, "--health-window", window, "--grace", "1s"}, flags...)
	p, err := driver.Start(s.dir, s.name, s.binary, args...)
	if err != nil {
		return err
	}
	s.process = p
	return until(ctx, s.name+" answers", func(ctx context.Context) (bool, error) {
		_, _, err := s.ask(ctx, http.MethodGet, "/healthz", nil)
		return err == nil, err
	}, p)
}

// end is how a process is ended: with a chance to say goodbye, or without.
type end func(*driver.Process) error

var (
	stop end = (*driver.Process).Stop
	kill end = (*driver.Process).Kill
)

// restart ends the process, and starts it with other flags.
func (s *server) restart(ctx context.Context, how end, flags ...string) error {
	if err := how(s.process); err != nil {
		return err
	}
	return s.serve(ctx, flags...)
}

// ask makes a request.
func (s *server) ask(ctx context.Context, method, path string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url()+path, content) //nolint:gosec // G704: a server of our own
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := http.DefaultClient.Do(r) //nolint:gosec // G704: as above
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return resp.StatusCode, text, err
}

// must is ask for what has to be answered as it was asked.
func (s *server) must(ctx context.Context, method, path string, body, into any) error {
	status, text, err := s.ask(ctx, method, path, body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d: %.300s", method, path, status, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}

// send submits a task to an agent, and returns at once.
func (s *server) send(ctx context.Context, agent, id, text string) (string, error) {
	var sent struct{ Task struct{ ID string } }
	err := s.must(ctx, http.MethodPost, "/"+agent+"/message:send", object{
		"message":       object{"messageId": id, "role": "ROLE_USER", "parts": []object{{"text": text}}},
		"configuration": object{"returnImmediately": true},
	}, &sent)
	return sent.Task.ID, err
}

// light is a light as a server shows it.
type light struct {
	Invariant, Rule, Name, Light, Metric, Runbook string
	Value                                         float64
	Count                                         int
	Tasks                                         []struct{ Task string }
}

func (l light) names(task string) bool {
	for _, t := range l.Tasks {
		if t.Task == task {
			return true
		}
	}
	return task == ""
}

func (s *server) lights(ctx context.Context) ([]light, error) {
	var report struct{ Lights []light }
	err := s.must(ctx, http.MethodGet, "/health", nil, &report)
	return report.Lights, err
}

func (s *server) light(ctx context.Context, id string) (light, error) {
	all, err := s.lights(ctx)
	for _, l := range all {
		if l.Invariant == id {
			return l, nil
		}
	}
	return light{}, errors.Join(err, fmt.Errorf("no light %s", id))
}

// written is how much of metrics there is: a mark to look behind.
func (s *server) written() (mark []int) {
	for _, file := range s.metrics {
		text, _ := os.ReadFile(file) // none yet: nothing
		mark = append(mark, len(text))
	}
	return mark
}

// metric is the first line behind a mark in which a metric has at least a value.
func (s *server) metric(mark []int, name string, least float64) (string, bool) {
	for i, file := range s.metrics {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text[min(mark[i], len(text)):])) {
			var fields object
			if json.Unmarshal([]byte(line), &fields) != nil || fields["_aws"] == nil {
				continue
			}
			if v, is := fields[name].(float64); is && v >= least {
				return strings.TrimSpace(line), true
			}
		}
	}
	return "", false
}
