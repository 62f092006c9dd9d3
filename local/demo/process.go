package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// process is a child with its output in files.
type process struct {
	name      string
	startedAt time.Time
	output    string // the file of its standard output
	log       string // the file of its standard error
	cmd       *exec.Cmd
	exited    chan struct{}
	result    error // how it ended; once exited is closed
}

// startProcess runs a binary with its output in dir.
func startProcess(dir, name, binary string, args ...string) (*process, error) {
	p := &process{
		name: name, output: filepath.Join(dir, name+".out"), log: filepath.Join(dir, name+".log"),
		cmd:    exec.Command(binary, args...), //nolint:noctx,gosec // what it has just built; its end is its own business: it is killed by name
		exited: make(chan struct{}),
	}
	output, err := os.Create(p.output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the child has its own
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = output, log
	p.startedAt = time.Now()
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
	return p.wait(context.Background(), endTime)
}

// wait waits for the process's end, however it comes.
func (p *process) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s still runs after %s", p.name, limit)
	}
}

// freeAddress is a loopback address that nobody listens on. It lies below the ports
// that systems give to outgoing connections: one of those could take the address
// while the product is down.
func freeAddress(ctx context.Context) (string, error) {
	const first, count, attempts = 20_000, 10_000, 50
	var failed error
	for range attempts {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count)))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
		failed = err
	}
	return "", fmt.Errorf("no free port in %d attempts: %w", attempts, failed)
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
