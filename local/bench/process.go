package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-a2a/holdfast/local/sqlite"
)

// server is this program as a server, in a process of its own.
type server struct {
	cmd *exec.Cmd
	url string
}

func start(ctx context.Context, dir string, flags ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"server", "--data", dir}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process, however that ends
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return &server{cmd: cmd, url: strings.TrimSpace(line)}, nil
}

// stop ends the server gracefully and returns its peak memory in MiB.
func (s *server) stop() (float64, error) {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	if err := s.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the server ended with %w", err)
	}
	usage, ok := s.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, nil
	}
	return float64(usage.Maxrss) / 1024, nil // KiB on Linux (getrusage(2))
}

// cpu is what the ended server used, in user and system mode.
func (s *server) cpu() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

func (s *server) commitsPerBatch(ctx context.Context, client *http.Client) (float64, error) {
	var stats sqlite.Stats
	if err := s.get(ctx, client, "/bench", &stats); err != nil {
		return 0, err
	}
	return float64(stats.Commits) / float64(max(stats.Batches, 1)), nil
}

// restart kills the server in the middle of a task, in the folder that the load
// has filled, and measures from the start of the next process to the first entry
// that it commits.
func restart(ctx context.Context, dir string, _ plan, f *figures) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	data := filepath.Join(dir, "http")
	client := &http.Client{Timeout: 10 * time.Second}
	s, err := start(ctx, data)
	if err != nil {
		return err
	}
	body := fmt.Appendf(nil, `{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"slow"}]},"configuration":{"returnImmediately":true}}`, newID())
	answer, err := s.post(ctx, client, "/message:send", body)
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(answer), `"id":"`)
	task, _, found := strings.Cut(after, `"`)
	if !found {
		return fmt.Errorf("no task in %.300s", answer)
	}
	seen, err := s.entryAfter(ctx, client, task, 3)
	if err != nil {
		return err
	}
	if err := errors.Join(s.cmd.Process.Kill(), ignoreKilled(s.cmd.Wait())); err != nil {
		return err
	}
	began := time.Now()
	if s, err = start(ctx, data); err != nil {
		return err
	}
	next, err := s.entryAfter(ctx, client, task, seen.Seq)
	if err != nil {
		return err
	}
	f.RestartToCommit = float64(next.AcceptedAt.Sub(began)) / float64(time.Millisecond)
	_, err = s.stop()
	return err
}

func ignoreKilled(err error) error {
	if _, killed := errors.AsType[*exec.ExitError](err); killed {
		return nil
	}
	return err
}

// line is what is needed of an entry.
type line struct {
	Seq        uint64    `json:"seq"`
	AcceptedAt time.Time `json:"acceptedAt"`
}

// entryAfter waits for the first entry after a sequence.
func (s *server) entryAfter(ctx context.Context, client *http.Client, task string, after uint64) (line, error) {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		var page struct {
			Entries []line `json:"entries"`
		}
		if err := s.get(ctx, client, fmt.Sprintf("/tasks/%s/ledger?after=%d", task, after), &page); err != nil {
			return line{}, err
		}
		if len(page.Entries) > 0 {
			return page.Entries[0], nil
		}
		select {
		case <-ctx.Done():
			return line{}, ctx.Err()
		case <-poll.C:
		}
	}
}
