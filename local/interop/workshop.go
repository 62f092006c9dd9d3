package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// workshop is what was built and installed.
type workshop struct {
	root, dir string // of the module; where things are built
	server    string // the binary
	clients   []client
}

// client is one SDK's program: a command that takes the address and the binding.
type client struct {
	name    string
	command []string
	tool    []string // prints the version of what runs it
}

// prepare builds the server and the Go client, and installs the others' SDKs.
func prepare(ctx context.Context) (workshop, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	root, err := driver.Root(ctx)
	if err != nil {
		return workshop{}, err
	}
	w := workshop{root: root, dir: filepath.Join(root, "dist", "interop")}
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return w, err
	}
	if w.server, err = driver.Build(ctx, root, filepath.Join(w.dir, "server"), "./local/interop/server"); err != nil {
		return w, err
	}
	golang, err := driver.Build(ctx, root, filepath.Join(w.dir, "golang"), "./local/interop/golang")
	if err != nil {
		return w, err
	}
	venv, err := w.install(ctx, "venv local/interop/python/requirements.txt")
	if err != nil {
		return w, err
	}
	script, err := w.javascript(ctx)
	if err != nil {
		return w, err
	}
	python := filepath.Join(venv, "bin", "python")
	w.clients = []client{
		{"python", []string{python, "-B", filepath.Join(root, "local", "interop", "python", "main.py")}, []string{python, "--version"}},
		{"javascript", []string{"node", script}, []string{"node", "--version"}},
		{"golang", []string{golang}, []string{"go", "version"}},
	}
	return w, nil
}

// install calls a function of the script that installs pinned tools; it prints
// where.
func (w workshop) install(ctx context.Context, call string) (string, error) {
	return driver.Output(ctx, w.root, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; "+call)
}

// javascript lays the program beside the packages that it imports: node looks for
// them in the folders above a module, and none may stand in the source tree.
func (w workshop) javascript(ctx context.Context) (string, error) {
	packages, err := w.install(ctx, "need node nodejs >&2; node_modules local/interop/javascript")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(w.dir, "javascript")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(w.root, "local", "interop", "javascript"))); err != nil {
		return "", err
	}
	return filepath.Join(dir, "main.mjs"), os.Symlink(packages, filepath.Join(dir, "node_modules"))
}

// versions are those of what runs the clients.
func (w workshop) versions(ctx context.Context) []string {
	var list []string
	for _, c := range w.clients {
		version, err := driver.Output(ctx, w.root, c.tool[0], c.tool[1:]...)
		if err != nil {
			version = err.Error()
		}
		list = append(list, fmt.Sprintf("%s runs on %s", c.name, version))
	}
	return list
}

// run lets the client's program go through the scenarios.
func (c client) run(ctx context.Context, url, binding, logs string) report {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	log := filepath.Join(logs, c.name+"-"+strings.ReplaceAll(binding, "+", "-")+".log")
	cmd := exec.CommandContext(ctx, c.command[0], append(c.command[1:], url, binding)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	file, err := os.Create(log)
	if err == nil {
		cmd.Stderr = file
		err = cmd.Run()
		err = cmp.Or(err, file.Close())
	}
	r := readReport(&out, c.name, binding)
	if err != nil {
		r.outcomes = append(r.outcomes, outcome{Scenario: "the program itself", Failed: fmt.Sprintf("%v, see %s", err, log)})
	}
	return r
}
