package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// server is one that runs.
type server struct {
	*driver.Process
	url string
}

// serve starts the servers: for everybody, with keys, and with many tasks.
func (w workshop) serve(ctx context.Context, data, keys string, tasks int) ([]server, error) {
	const few = 1500 // so that a list has several pages
	args := [][]string{{"--tasks", strconv.Itoa(few)}, {"--keys", keys}, {"--tasks", strconv.Itoa(tasks)}}
	servers, errs := make([]server, len(args)), make([]error, len(args))
	var all sync.WaitGroup
	for i, more := range args {
		all.Go(func() {
			folder := filepath.Join(data, strconv.Itoa(i))
			if errs[i] = os.MkdirAll(folder, 0o755); errs[i] == nil {
				servers[i], errs[i] = w.start(ctx, fmt.Sprintf("server-%d", i), append(more, "--data", folder)...)
			}
		})
	}
	all.Wait()
	err := errors.Join(errs...)
	if err != nil {
		for _, s := range servers {
			err = errors.Join(err, driver.End(s.Process))
		}
	}
	return servers, err
}

// start runs a server and waits for the line that says where it serves.
func (w workshop) start(ctx context.Context, name string, args ...string) (s server, err error) {
	if s.Process, err = driver.Start(w.dir, name, w.server, args...); err == nil {
		s.url, err = s.FirstLine(ctx, startTime)
	}
	return s, err
}

// provoked is what a server says of the worker that says two things under one ID.
const provoked = "an incident: one identity, two contents"

// stop ends the server, which must have lived until now, end by itself, and have met no
// fault of its own.
func (s server) stop() error {
	if err := s.Stop(); err != nil {
		return err
	}
	text, err := os.ReadFile(s.Log)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, provoked) {
			err = errors.Join(err, fmt.Errorf("%s logged an error, see %s: %s", s.Name, s.Log, strings.TrimSpace(line)))
		}
	}
	return err
}

// plan is what the driver is told.
type plan struct {
	URL      string            `json:"url"`
	KeysURL  string            `json:"keysUrl"`
	BigURL   string            `json:"bigUrl"`
	Tasks    int               `json:"tasks"`
	Keys     map[string]string `json:"keys"`
	Folder   string            `json:"folder"`
	Chromium string            `json:"chromium"`
	Patience int               `json:"patience"`
	Only     string            `json:"only,omitempty"`
}

// drive runs the browser's driver and reads what it says, line by line.
func (w workshop) drive(ctx context.Context, p plan, out io.Writer) (*report, error) {
	arg, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", w.script, string(arg))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	r := readReport(pipe, out)
	return r, cmd.Wait()
}
