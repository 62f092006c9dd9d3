package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// What is real in these tests: everything. The program serves over TCP from a
// folder on the disk, and its clock is the machine's.

func message(id, text string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, id, text)
}

// The README's tour, and a graceful stop with a stream open: the stream ends in an
// orderly way, the program soon after it and without an error, and the next one
// goes on with the task.
func TestServe(t *testing.T) {
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data)
	status, answer := p.call(http.MethodPost, "/message:send", message("hello-1", "Ada"))
	if status != http.StatusOK || !strings.Contains(answer, "TASK_STATE_COMPLETED") || !strings.Contains(answer, "Hello, Ada!") {
		t.Fatalf("%d %s", status, answer)
	}
	if again, same := p.call(http.MethodPost, "/message:send", message("hello-1", "Ada")); again != http.StatusOK || same != answer {
		t.Errorf("the same message again: %d %s", again, same)
	}
	stream := p.open(http.MethodPost, "/message:stream", message("count-1", "count 1000"))
	defer func() { _ = stream.Body.Close() }()
	lines := bufio.NewReader(stream.Body)
	task := firstTask(t, lines)

	began := time.Now()
	stop()
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if took := time.Since(began); took > stopTime/2 {
		t.Errorf("stopping took %s", took)
	}

	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	p = launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data)
	if _, after := p.call(http.MethodPost, "/message:send", message("hello-1", "Ada")); after != answer {
		t.Errorf("after a restart the task is %s", after)
	}
	if status, working := p.call(http.MethodGet, "/tasks/"+string(task), ""); status != http.StatusOK || !strings.Contains(working, "TASK_STATE_WORKING") {
		t.Errorf("after a restart: %d %s", status, working)
	}
	if status, canceled := p.call(http.MethodPost, "/tasks/"+string(task)+":cancel", ""); status != http.StatusOK || !strings.Contains(canceled, "TASK_STATE_CANCELED") {
		t.Errorf("canceling: %d %s", status, canceled)
	}
	follows(t, p.url, task)
	stop()
	if err := p.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	connections, err := os.ReadFile(filepath.Join(data, "connections.ndjson"))
	if err != nil || !bytes.Contains(connections, []byte(`"reason":"stopping"`)) {
		t.Errorf("the connection log: %s, %v", connections, err)
	}
}

// firstTask reads a stream's first event.
func firstTask(t *testing.T, lines *bufio.Reader) a2a.TaskID {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		var first struct{ Task a2a.Task }
		if err := json.Unmarshal([]byte(data), &first); err != nil || first.Task.ID == "" {
			t.Fatalf("the first event is %s (%v)", line, err)
		}
		return first.Task.ID
	}
}

// follows shows a canceled task with watch: its updates, one line each, and an
// exit code that says how it ended.
func follows(t *testing.T, url string, task a2a.TaskID) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), []string{"watch", "--server", url, string(task)}, &out, io.Discard)
	if exitCode(err) != 3 || !strings.Contains(strings.ToLower(out.String()), "canceled") {
		t.Errorf("watch: %v, %s", err, out.String())
	}
	err = run(t.Context(), []string{"watch", "--server", url, "none"}, io.Discard, io.Discard)
	if exitCode(err) != 1 || !strings.Contains(err.Error(), "--agent") {
		t.Errorf("watching nothing: %v; want a hint at the agent", err)
	}
}

// A port that is taken is an error that names it.
func TestServeWithoutItsPort(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	first := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	taken := strings.TrimPrefix(first.url, "http://")
	err := run(t.Context(), []string{"serve", "--addr", taken, "--data", t.TempDir()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), taken) || !strings.Contains(err.Error(), "HOLDFAST_PORT") || !strings.Contains(err.Error(), "--addr") || exitCode(err) != 1 {
		t.Errorf("error %v, want one that names %s, and what chooses another", err, taken)
	}
	for _, beside := range []string{"systems", "receiver"} {
		err := run(t.Context(), []string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--" + beside, "--" + beside + "-addr", taken}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), taken) || !strings.Contains(err.Error(), "--"+beside+"-addr, or leave --"+beside+" out") {
			t.Errorf("%s: error %v, want one that names %s, and what moves it or turns it off", beside, err, taken)
		}
	}
	stop()
	if err := first.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
