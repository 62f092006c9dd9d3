package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestExitCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"success":            {nil, 0},
		"a failure":          {errors.New("oops"), 1},
		"a bad flag":         {usage(errors.New("flag provided but not defined: -x")), 2},
		"an unknown command": {fmt.Errorf("unknown command %q: %w", "x", errUsage), 2},
		"a failed task":      {endedBadly{a2a.TaskStateFailed}, 3},
		"a canceled task":    {fmt.Errorf("watch: %w", endedBadly{a2a.TaskStateCanceled}), 3},
		"a rejected task":    {endedBadly{a2a.TaskStateRejected}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(c.err); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// Without a command, or with one that is not known, the commands are listed.
func TestRunUsage(t *testing.T) {
	for args, code := range map[string]int{"": 0, "help": 0, "-h": 0, "--help": 0, "sevre": 2, "--data x": 2} {
		t.Run(args, func(t *testing.T) {
			var out, logs bytes.Buffer
			err := run(t.Context(), strings.Fields(args), &out, &logs)
			if got := exitCode(err); got != code {
				t.Errorf("exit code %d, want %d (%v)", got, code, err)
			}
			if code != 0 && !strings.Contains(err.Error(), fmt.Sprintf("unknown command %q", strings.Fields(args)[0])) {
				t.Errorf("error %v", err)
			}
			for name := range commands() {
				if !strings.Contains(logs.String(), "\n  "+name+" ") {
					t.Errorf("command %s is not listed: %s", name, logs.String())
				}
			}
			if out.Len() > 0 {
				t.Errorf("on standard output: %s", out.String())
			}
		})
	}
}

// A command's flags are the command's: its errors come through run as they are.
func TestRunPassesErrors(t *testing.T) {
	err := run(t.Context(), []string{"serve", "--addr", "0.0.0.0:80"}, io.Discard, io.Discard)
	if exitCode(err) != 1 || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("error %v", err)
	}
	err = run(t.Context(), []string{"watch", "--nonsense"}, io.Discard, io.Discard)
	if exitCode(err) != 2 {
		t.Errorf("error %v", err)
	}
}
