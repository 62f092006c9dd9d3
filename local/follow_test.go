package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// given is the command line that watch prints at a pause.
var given = regexp.MustCompile(`curl -s '([^']+)/message:send' -H 'A2A-Version: 1.0' -H 'Content-Type: application/a2a\+json' -d '([^']+)'`)

// Whoever watches a task that asks is told how to answer, and the command does it.
func TestWatchSaysHowToAnswer(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	systems := launch(ctx, t, "systems", "--addr", "127.0.0.1:0")
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--systems-url", systems.url)
	send, err := os.ReadFile("../events/accessreview/send.json")
	if err != nil {
		t.Fatal(err)
	}
	status, answer := p.call(http.MethodPost, "/access-review/message:send", string(send))
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(answer)
	if status != http.StatusOK || id == nil {
		t.Fatalf("%d %.300s", status, answer)
	}
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(t.Context(), []string{"watch", "--server", p.url, "--agent", "access-review", id[1]}, writer, io.Discard)
		_ = writer.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(reader)
	var told []string
	for told == nil && lines.Scan() {
		told = given.FindStringSubmatch(lines.Text())
	}
	if told == nil {
		t.Fatalf("nothing was told; watch ended with %v", <-ended)
	}
	if told[1] != p.url+"/access-review" || !strings.Contains(told[2], "YOUR ANSWER") {
		t.Fatalf("told %q", told[0])
	}
	if status, answer := p.call(http.MethodPost, "/access-review/message:send", strings.ReplaceAll(told[2], "YOUR ANSWER", "approve all")); status != http.StatusOK {
		t.Errorf("answering: %d %.300s", status, answer)
	}
	var last string
	for lines.Scan() {
		last = lines.Text()
	}
	if err := <-ended; err != nil || !strings.Contains(last, "completed") {
		t.Errorf("watch ended with %v: %s", err, last)
	}
	stop()
	for _, one := range []*process{p, systems} {
		if err := one.wait(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
}
