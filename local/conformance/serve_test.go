package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// The server says where it is, answers there, and stops when it is told to.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- errors.Join(run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir()}, w, io.Discard), w.Close())
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(line, " is on ")
	url, _, _ = strings.Cut(url, ",")
	c := caller{t, url, false}
	if state := at(c.ok("SendMessage", message("tck-complete-task")), "task", "status", "state"); state != "TASK_STATE_COMPLETED" {
		t.Errorf("state %v", state)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRunRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"play":                            `unknown command "play"`,
		"serve":                           "serve needs --data",
		"serve --data x y":                "serve needs --data",
		"serve --data x --addr 0.0.0.0:1": "only a loopback address",
		"serve --data x --addr 9999":      "only a loopback address",
		"check now":                       `unexpected argument "now"`,
		"--kit= --spec testdata/none.md":  "testdata/none.md",
		"check --kit= --spec testdata/deviations.tsv": "does not say",
		"check --unknown": "flag provided but not defined",
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if err := run(t.Context(), []string{"check", "-h"}, io.Discard, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}
