package main

import (
	"bufio"
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
	"syscall"
)

// process is a server.
type process struct {
	cmd *exec.Cmd
	log *os.File
	url string
}

// serve starts the servers: for everybody, with keys, and with many tasks.
func (w workshop) serve(ctx context.Context, data, keys string, tasks int) ([]*process, error) {
	const few = 1500 // so that a list has several pages
	args := [][]string{{"--tasks", strconv.Itoa(few)}, {"--keys", keys}, {"--tasks", strconv.Itoa(tasks)}}
	servers, errs := make([]*process, len(args)), make([]error, len(args))
	var all sync.WaitGroup
	for i, more := range args {
		all.Go(func() {
			folder := filepath.Join(data, strconv.Itoa(i))
			if errs[i] = os.MkdirAll(folder, 0o755); errs[i] == nil {
				servers[i], errs[i] = w.start(ctx, fmt.Sprintf("server-%d.log", i), append(more, "--data", folder)...)
			}
		})
	}
	all.Wait()
	return servers, errors.Join(errs...)
}

// start runs a server and waits for the line that says where it serves.
func (w workshop) start(ctx context.Context, log string, args ...string) (*process, error) {
	file, err := os.Create(filepath.Join(w.dir, log))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, w.server, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p := &process{cmd: cmd, log: file}
	line, err := bufio.NewReader(out).ReadString('\n')
	if p.url = strings.TrimSpace(line); err != nil {
		return nil, errors.Join(fmt.Errorf("a server did not start, see %s: %w", file.Name(), err), p.stop())
	}
	return p, nil
}

// provoked is what a server says of the worker that says two things under one ID.
const provoked = "an incident: one identity, two contents"

// stop ends the server, which must have lived until now, end by itself, and have met no
// fault of its own.
func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = p.cmd.Wait()
	}
	if err = errors.Join(err, p.log.Close()); err != nil {
		return fmt.Errorf("a server, see %s: %w", p.log.Name(), err)
	}
	text, err := os.ReadFile(p.log.Name())
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, provoked) {
			err = errors.Join(err, fmt.Errorf("a server logged an error, see %s: %s", p.log.Name(), strings.TrimSpace(line)))
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
