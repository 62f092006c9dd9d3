package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is a child with its output in files.
type process struct {
	name   string
	log    string // the file of its standard error
	cmd    *exec.Cmd
	exited chan struct{}
	result error // how it ended; once exited is closed
}

// startProcess runs a binary with its output in dir.
func startProcess(dir, name, binary string, args ...string) (*process, error) {
	p := &process{
		name: name, log: filepath.Join(dir, name+".log"),
		cmd:    exec.Command(binary, args...), //nolint:noctx // its end is its own business: it is killed by name
		exited: make(chan struct{}),
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.result = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// alive is an error once the process has ended, which nobody expects of it.
func (p *process) alive() error {
	select {
	case <-p.exited:
		how := "exit code 0"
		if p.result != nil {
			how = p.result.Error()
		}
		return fmt.Errorf("%s ended by itself (%s), see %s", p.name, how, p.log)
	default:
		return nil
	}
}

// kill ends the process with SIGKILL and waits until it is gone. It is an error
// when there was nothing to kill.
func (p *process) kill() error {
	if err := p.alive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	gone := time.NewTimer(endTime)
	defer gone.Stop()
	select {
	case <-p.exited:
		return nil
	case <-gone.C:
		return fmt.Errorf("%s still runs after %s", p.name, endTime)
	}
}

// listen takes the first of the drill's ports that is free.
func listen(ctx context.Context) (net.Listener, error) {
	var failed error
	for port := range portCount {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+port))
		if err == nil {
			return listener, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("none of %d ports is free: %w", portCount, failed)
}

// freeAddresses are so many addresses that nobody listens on.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
	var out []string
	var open []net.Listener
	var failed []error
	for range n {
		listener, err := listen(ctx)
		if err != nil {
			failed = append(failed, err)
			break
		}
		open, out = append(open, listener), append(out, listener.Addr().String())
	}
	for _, listener := range open {
		failed = append(failed, listener.Close())
	}
	return out, errors.Join(failed...)
}

// until looks until a condition holds. What the condition returns as an error is
// why it does not hold yet. A process that ends meanwhile ends the wait.
func until(ctx context.Context, what string, needs *process, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
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
		if err := needs.alive(); err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if why == nil {
				why = ctx.Err()
			}
			return fmt.Errorf("waited in vain until %s: %w", what, why)
		case <-ticker.C:
		}
	}
}
