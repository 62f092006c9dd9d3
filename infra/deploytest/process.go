package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a child; its output is in a file.
type process struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{}
	result    error // once exited is closed
}

// start runs a program that stays. A nil environment is the driver's own.
func (t *test) start(name string, environment []string, program string, args ...string) error {
	p := &process{name: name, log: filepath.Join(t.dir, name+".log"), exited: make(chan struct{})}
	p.cmd = exec.Command(program, args...) //nolint:noctx // it outlives every context; end stops it
	p.cmd.Env = environment
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its own children end with it
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.result = p.cmd.Wait()
		close(p.exited)
	}()
	t.children = append(t.children, p)
	return nil
}

// alive is an error once the process has ended, which nobody expects of it.
func (p *process) alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended by itself (%w), see %s", p.name, errors.Join(p.result, os.ErrProcessDone), p.log)
	default:
		return nil
	}
}

// stop ends the process and what it has started.
func (p *process) stop() {
	group := -p.cmd.Process.Pid
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if syscall.Kill(group, signal) != nil {
			return // there is nobody left
		}
		timer := time.NewTimer(stopTime)
		select {
		case <-p.exited:
			timer.Stop()
		case <-timer.C:
		}
	}
	<-p.exited
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// until looks until a condition holds. What the condition returns as an error is why it does not hold yet.
func (t *test) until(ctx context.Context, what string, limit time.Duration, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var why error
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		if ctx.Err() == nil {
			why = err
		}
		for _, p := range t.children {
			if err := p.alive(); err != nil {
				return fmt.Errorf("waiting until %s: %w", what, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s: %w", what, errors.Join(why, ctx.Err()))
		case <-ticker.C:
		}
	}
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
