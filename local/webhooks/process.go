package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// process is a child whose standard output is read line by line.
type process struct {
	name   string
	log    string // the file of its standard error
	cmd    *exec.Cmd
	exited chan struct{}
	result error // how it ended; once exited is closed

	mu    sync.Mutex
	lines []string
}

// startProcess runs a command with its output in dir. env is beside the driver's own.
func startProcess(dir, name string, env []string, command ...string) (*process, error) {
	p := &process{
		name: name, log: filepath.Join(dir, name+".log"),
		cmd:    exec.Command(command[0], command[1:]...), //nolint:noctx // what was just built; its end is its own business
		exited: make(chan struct{}),
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	p.cmd.Stderr, p.cmd.Env = log, append(os.Environ(), env...)
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, maxAnswerBytes)
		for lines.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
		p.result = p.cmd.Wait() // after everything was read
		close(p.exited)
	}()
	return p, nil
}

// said are the lines that it has printed.
func (p *process) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[:len(p.lines):len(p.lines)]
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

// kill ends the process with SIGKILL and waits until it is gone. It is an error when
// there was nothing to kill.
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

// end kills a process if it runs, and does not look at what becomes of it.
func (p *process) end() {
	if p != nil && p.alive() == nil {
		_ = p.kill()
	}
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := listen(ctx)
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// listen takes a port that is free.
func listen(ctx context.Context) (net.Listener, error) {
	const attempts = 50
	var failed error
	for range attempts {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(portCount)))
		if err == nil {
			return listener, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("no free port in %d attempts: %w", attempts, failed)
}

// until looks until a condition holds. What the condition returns as an error is why it
// does not hold yet. A process that ends meanwhile ends the wait.
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
