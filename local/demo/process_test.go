package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"testing"
)

// childVariable makes the test binary a process that does nothing until it is
// killed.
const childVariable = "HOLDFAST_DEMO_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		forever := make(chan os.Signal, 1)
		signal.Notify(forever)
		for range forever {
			continue // only SIGKILL ends it
		}
	}
	os.Exit(m.Run())
}

func child(t *testing.T) *process {
	t.Helper()
	t.Setenv(childVariable, "1")
	p, err := startProcess(t.TempDir(), "child", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.alive() == nil {
			_ = p.kill()
		}
	})
	return p
}

func TestProcessKill(t *testing.T) {
	p := child(t)
	if err := p.alive(); err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	if p.result == nil || p.alive() == nil {
		t.Errorf("ended with %v", p.result)
	}
	if err := p.kill(); err == nil || !strings.Contains(err.Error(), "child ended by itself") {
		t.Errorf("killed again: %v", err)
	}
}

func TestUntil(t *testing.T) {
	p := child(t)
	looks := 0
	if err := until(t.Context(), "it holds", p, func(context.Context) (bool, error) { looks++; return looks == 3, nil }); err != nil || looks != 3 {
		t.Errorf("looked %d times: %v", looks, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	err := until(ctx, "it holds", p, func(ctx context.Context) (bool, error) {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		cancel()
		return false, errors.New("not yet")
	})
	if err == nil || !strings.HasPrefix(err.Error(), "waited in vain until it holds") {
		t.Errorf("got %v", err)
	}

	// A process that ends meanwhile ends the wait, and the message says so.
	err = until(t.Context(), "it holds", p, func(context.Context) (bool, error) {
		if p.alive() == nil {
			_ = p.kill()
		}
		return false, nil
	})
	if err == nil || !strings.Contains(err.Error(), "child ended by itself") {
		t.Errorf("got %v", err)
	}
}

func TestFreeAddress(t *testing.T) {
	one, err := freeAddress(t.Context())
	if err != nil || !strings.HasPrefix(one, "127.0.0.1:") {
		t.Errorf("got %q, %v", one, err)
	}
}
