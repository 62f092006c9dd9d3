package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// process is a child; what it starts ends with it.
type process struct{ *driver.Process }

// start runs a program that stays. A nil environment is the driver's own.
func (t *test) start(name string, environment []string, program string, args ...string) error {
	cmd := exec.Command(program, args...) //nolint:noctx // it outlives every context; end stops it
	cmd.Env = environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p, err := driver.StartCommand(t.dir, name, cmd)
	if err == nil {
		t.children = append(t.children, process{p})
	}
	return err
}

// stop ends the process and what it has started.
func (p process) stop() {
	group := -p.Pid()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if syscall.Kill(group, signal) != nil {
			return // there is nobody left
		}
		_ = p.Wait(context.Background(), stopTime) // then with more force
	}
	<-p.Exited
}

// until looks until a condition holds. What the condition returns as an error is why it does not hold yet.
func (t *test) until(ctx context.Context, what string, limit time.Duration, holds func(context.Context) (bool, error)) error {
	w := driver.Wait{What: what, Limit: limit, Every: lookEvery}
	for _, p := range t.children {
		w.Needs = append(w.Needs, p.Process)
	}
	return driver.Until(ctx, w, holds)
}

// command runs a program to its end and gives its output.
func (t *test) command(ctx context.Context, environment []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	if environment != nil {
		cmd.Env = append(cmd.Environ(), environment...)
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out, fmt.Errorf("%s %.200q: %w: %.2000s", filepath.Base(program), args, err, exit.Stderr)
	}
	return out, err
}
