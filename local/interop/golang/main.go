// Command golang is the Go SDK's part of the interop driver: golang BASE BINDING.
//
// It prints one JSON object a line: the client's version, then the outcome of each
// scenario.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"
)

// playTime bounds one scenario.
const playTime = time.Minute

// sdk is the module that is tried.
const sdk = "github.com/a2aproject/a2a-go/v2"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: golang BASE BINDING")
		os.Exit(2)
	}
	if err := play(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "golang:", err)
		os.Exit(1)
	}
}

func play(ctx context.Context, base, binding string) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"client": "a2a-go", "version": version()}); err != nil {
		return err
	}
	p, err := newPeer(ctx, base, binding)
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		if err := out.Encode(s.play(ctx, p)); err != nil {
			return err
		}
	}
	return nil
}

// version is the SDK's, from what was linked.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == sdk {
				return m.Version
			}
		}
	}
	return "unknown"
}

// scenario is one of those that the driver knows by their names.
type scenario struct {
	name string
	run  func(ctx context.Context, p *peer) (note string, err error)
}

// outcome is one line for the driver.
type outcome struct {
	Scenario string `json:"scenario"`
	Note     string `json:"note,omitempty"`
	Failed   string `json:"failed,omitempty"`
}

func (s scenario) play(ctx context.Context, p *peer) outcome {
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	note, err := s.attempt(ctx, p)
	out := outcome{Scenario: s.name, Note: note}
	if err != nil {
		out.Failed = err.Error()
	}
	return out
}

// attempt makes of a panic a failure like any other: what should have come and was
// looked into did not.
func (s scenario) attempt(ctx context.Context, p *peer) (note string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	return s.run(ctx, p)
}

// first is the first of several checks that failed.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// same is an error unless two values have the same JSON.
func same(got, want any, what string) error {
	g, err := json.Marshal(got)
	if err != nil {
		return err
	}
	w, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if string(g) != string(w) {
		return fmt.Errorf("%s: got %.300s, want %.300s", what, g, w)
	}
	return nil
}

// check is an error unless a condition holds.
func check(fine bool, format string, args ...any) error {
	if fine {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// refused is an error unless a call failed with the SDK's error.
func refused(err, want error, what string) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s: it was not refused, want %w", what, want)
	case errors.Is(err, want):
		return nil
	default:
		return fmt.Errorf("%s: got %w, want %w", what, err, want)
	}
}
