package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// workshop is what was built and installed.
type workshop struct {
	root, dir string // of the module; where things are built and logs are
	binary    string
	python    string // the folder of the virtual environment
}

func prepare(ctx context.Context) (workshop, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	gomod, err := output(ctx, "", "go", "env", "GOMOD")
	if err != nil {
		return workshop{}, err
	}
	if gomod == "" || gomod == os.DevNull {
		return workshop{}, errors.New("run it from within the project: go run ./local/openapi")
	}
	root := filepath.Dir(gomod)
	w := workshop{root: root, dir: filepath.Join(root, "dist", "openapi")}
	w.binary = filepath.Join(w.dir, "holdfast")
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return w, err
	}
	if _, err := output(ctx, root, "go", "build", "-o", w.binary, "./local"); err != nil {
		return w, err
	}
	w.python, err = output(ctx, root, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; venv local/openapi/requirements.txt")
	return w, err
}

// output is what a command prints. What it says beside that goes to the terminal.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// process is one of the program's.
type process struct {
	cmd *exec.Cmd
	log *os.File
	url string
}

// address is where a process says that it serves.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start runs the program and waits for the line that says where it serves.
func (w workshop) start(ctx context.Context, log string, args ...string) (*process, error) {
	file, err := os.Create(filepath.Join(w.dir, log))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	cmd.Stderr = file
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p := &process{cmd: cmd, log: file}
	line, err := bufio.NewReader(out).ReadString('\n')
	if p.url = address.FindString(line); p.url == "" {
		return nil, errors.Join(fmt.Errorf("%s did not start, see %s: %q, %w", args[0], file.Name(), line, err), p.stop())
	}
	return p, nil
}

// stop ends the process, which must have lived until now and end by itself.
func (p *process) stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = p.cmd.Wait()
	}
	if err = errors.Join(err, p.log.Close()); err != nil {
		return fmt.Errorf("the process, see %s: %w", p.log.Name(), err)
	}
	return nil
}

// faults are the lines of a server's log that say that something failed on its side:
// also behind an answer that had begun, which no client sees.
func faults(log string) error {
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	var lines []error
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") {
			lines = append(lines, errors.New(strings.TrimSpace(line)))
		}
	}
	return errors.Join(lines...)
}

// hooks takes what webhooks bring.
type hooks struct {
	server *http.Server
	url    string
}

func listen(ctx context.Context) (*hooks, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hooks{url: "http://" + listener.Addr().String() + "/hook"}
	h.server = &http.Server{ReadHeaderTimeout: stopTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = h.server.Serve(listener) }()
	return h, nil
}

func (h *hooks) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(h.server.Shutdown(ctx), ctx.Err())
}
