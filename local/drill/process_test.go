package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

func TestInLanes(t *testing.T) {
	var done atomic.Int64
	if err := inLanes(t.Context(), 100, func(context.Context, int) error { done.Add(1); return nil }); err != nil || done.Load() != 100 {
		t.Errorf("%d of 100, %v", done.Load(), err)
	}
	if err := inLanes(t.Context(), 0, func(context.Context, int) error { return errors.New("nothing was to be done") }); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	err := inLanes(t.Context(), 1000, func(ctx context.Context, i int) error {
		if i == 3 {
			return broken
		}
		if i > 3 {
			<-ctx.Done() // the failure ends all others
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestProcess(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := startProcess(t.TempDir(), "missing", missing); err == nil {
		t.Error("a process without a binary")
	}
	binary, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(t.TempDir(), "version", binary, "version")
	if err != nil {
		t.Fatal(err)
	}
	<-p.exited
	for about, err := range map[string]error{
		"alive": p.alive(), "kill": p.kill(),
		"until": until(t.Context(), "it does more", p, func(context.Context) (bool, error) { return false, nil }),
	} {
		if err == nil || !strings.Contains(err.Error(), "version ended by itself (exit code 0)") {
			t.Errorf("%s: %v", about, err)
		}
	}
}

func TestAnswer(t *testing.T) {
	refused := answer{409, []byte(`{"error":{"message":"No.","details":[{"reason":"FENCE_LOST"}]}}`)}
	for want, err := range map[string]error{
		"":                                    refused.refusedFor("it", fenceLost),
		"it: 409 FENCE_LOST: No., want":       refused.refusedFor("it", postTerminal),
		"it: 200, want":                       answer{200, nil}.refusedFor("it", fenceLost),
		`it: 502 "no JSON", want`:             answer{502, []byte("no JSON")}.refusedFor("it", fenceLost),
		"409 FENCE_LOST: No.":                 refused.decode(&struct{}{}),
		"the answer to a message is no task:": func() error { _, err := answer{200, []byte("{}")}.task(); return err }(),
	} {
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
