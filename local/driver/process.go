package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a child with its output in files.
type Process struct {
	Name      string
	Output    string // the file of its standard output
	Log       string // the file of its standard error
	StartedAt time.Time
	Exited    chan struct{}
	Result    error // how it ended; once Exited is closed

	cmd *exec.Cmd
}

// Start runs a binary with its output in dir.
func Start(dir, name, binary string, args ...string) (*Process, error) {
	return StartCommand(dir, name, exec.Command(binary, args...)) //nolint:noctx // its end is its own business: it is killed by name
}

// StartCommand is Start for a command with an environment or attributes of its own.
func StartCommand(dir, name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{
		Name: name, Output: filepath.Join(dir, name+".out"), Log: filepath.Join(dir, name+".log"),
		Exited: make(chan struct{}), cmd: cmd,
	}
	output, err := os.Create(p.Output)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }() // the child has its own
	log, err := os.Create(p.Log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = output, log
	p.StartedAt = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.Result = cmd.Wait()
		close(p.Exited)
	}()
	return p, nil
}

// Alive is an error once the process has ended, which nobody expects of it.
func (p *Process) Alive() error {
	select {
	case <-p.Exited:
		how := "exit code 0"
		if p.Result != nil {
			how = p.Result.Error()
		}
		return fmt.Errorf("%s ended by itself (%s), see %s", p.Name, how, p.Log)
	default:
		return nil
	}
}

// Kill ends the process with SIGKILL and waits until it is gone. It is an error when
// there was nothing to kill.
func (p *Process) Kill() error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.Name, err)
	}
	return p.Wait(context.Background(), endTime)
}

// End kills those that still run, and says what it could not.
func End(all ...*Process) error {
	var failed []error
	for _, p := range all {
		if p != nil && p.Alive() == nil {
			failed = append(failed, p.Kill())
		}
	}
	return errors.Join(failed...)
}

// Stop ends the process with SIGTERM. It must have lived until now, and end as one does
// that was asked to.
func (p *Process) Stop() error {
	if err := p.Alive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.Name, err)
	}
	if err := p.Wait(context.Background(), stopTime); err != nil {
		return errors.Join(err, p.Kill())
	}
	if p.Result != nil {
		return fmt.Errorf("%s: %w, see %s", p.Name, p.Result, p.Log)
	}
	return nil
}

// Wait waits for the process's end, however it comes.
func (p *Process) Wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.Exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s still runs after %s", p.Name, limit)
	}
}

// Pid is the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// FirstLine waits until the process has printed a line.
func (p *Process) FirstLine(ctx context.Context, limit time.Duration) (line string, err error) {
	err = Until(ctx, Wait{What: p.Name + " prints a line", Limit: limit, Needs: []*Process{p}}, func(context.Context) (bool, error) {
		text, err := os.ReadFile(p.Output)
		var whole bool
		line, _, whole = strings.Cut(string(text), "\n")
		return whole, err
	})
	return line, err
}
