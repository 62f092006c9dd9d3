package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long anything may take in these tests. Nothing waits for it to
// pass.
const patience = 30 * time.Second

// process is a command of this program that serves, run in this process on a port
// of its own.
type process struct {
	t    *testing.T
	url  string
	done chan error
	logs *record
}

// record is what was logged.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// String implements fmt.Stringer.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

var address = regexp.MustCompile(`on (http://127\.0\.0\.1:\d+)`)

// launch runs a command until it says where it serves.
func launch(ctx context.Context, t *testing.T, args ...string) *process {
	t.Helper()
	reader, writer := io.Pipe()
	p := &process{t: t, done: make(chan error, 1), logs: &record{}}
	go func() {
		err := run(ctx, args, writer, p.logs)
		_ = writer.Close()
		p.done <- err
	}()
	lines := bufio.NewScanner(reader)
	for p.url == "" {
		if !lines.Scan() {
			t.Fatalf("%v ended with %v: %s", args, <-p.done, p.logs)
		}
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			p.url = found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	return p
}

// wait waits for the command to return.
func (p *process) wait() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.NewTimer(patience).C:
		p.t.Fatalf("it did not stop: %s", p.logs)
		return nil
	}
}

// open makes a request; its body may be a stream.
func (p *process) open(method, path, body string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/a2a+json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// call makes a request and reads its answer.
func (p *process) call(method, path, body string) (status int, answer string) {
	p.t.Helper()
	resp := p.open(method, path, body)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
