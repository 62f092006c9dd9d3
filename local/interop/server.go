package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// server is the process that the clients talk to.
type server struct {
	cmd *exec.Cmd
	log *os.File
	url string
}

func startServer(ctx context.Context, binary, log string, args ...string) (*server, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start, see %s: %w", log, err), cmd.Process.Kill(), cmd.Wait(), file.Close())
	}
	return &server{cmd: cmd, log: file, url: strings.TrimSpace(line)}, nil
}

// stop ends the server, which must have lived until now and end by itself.
func (s *server) stop() error {
	err := s.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = s.cmd.Wait()
	}
	if err = errors.Join(err, s.log.Close()); err != nil {
		return fmt.Errorf("the server, see %s: %w", s.log.Name(), err)
	}
	return nil
}
