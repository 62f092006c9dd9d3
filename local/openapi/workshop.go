package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
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
	root, err := driver.Root(ctx)
	if err != nil {
		return workshop{}, err
	}
	w := workshop{root: root, dir: filepath.Join(root, "dist", "openapi")}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return w, err
	}
	if w.binary, err = driver.Build(ctx, root, filepath.Join(w.dir, "holdfast"), "./local"); err != nil {
		return w, err
	}
	w.python, err = driver.Output(ctx, root, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; venv local/openapi/requirements.txt")
	return w, err
}

// address is where a process says that it serves.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start runs the program and waits for the line that says where it serves.
func (w workshop) start(ctx context.Context, name string, args ...string) (*driver.Process, string, error) {
	p, err := driver.Start(w.dir, name, w.binary, args...)
	if err != nil {
		return nil, "", err
	}
	line, err := p.FirstLine(ctx, startTime)
	url := address.FindString(line)
	if err == nil && url == "" {
		err = fmt.Errorf("%s says %q, and not where it serves", name, line)
	}
	if err != nil {
		return nil, "", errors.Join(err, driver.End(p))
	}
	return p, url, nil
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
	h.server = &http.Server{ReadHeaderTimeout: startTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
