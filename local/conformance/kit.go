package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	kitTime    = 10 * time.Minute
	installing = 5 * time.Minute
	// bindings are the kit's names of ours.
	bindings = "jsonrpc,http_json"
)

// kit is a checkout of the kit with a Python that can run it.
type kit struct {
	dir, python string
	reports     string // where logs and reports go
}

// imports is what the kit needs of Python.
const imports = "import pytest, pytest_asyncio, pytest_html, httpx, grpc, google.protobuf, google.rpc, jsonschema, gherkin, jinja2"

// openKit finds or makes the Python environment. It is kept outside of both trees
// and used again.
func openKit(ctx context.Context, dir, reports string) (*kit, error) {
	if _, err := os.Stat(filepath.Join(dir, "tests", "compatibility")); err != nil {
		return nil, fmt.Errorf("TCK_DIR holds no kit (a2aproject/a2a-tck, branch 1.0-dev): %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	env := filepath.Join(cache, "holdfast-conformance", "venv")
	python := filepath.Join(env, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(env, "Scripts", "python.exe")
	}
	k := &kit{dir: dir, python: python, reports: reports}
	ctx, cancel := context.WithTimeout(ctx, installing)
	defer cancel()
	if exec.CommandContext(ctx, python, "-c", imports).Run() == nil {
		return k, nil
	}
	for _, args := range [][]string{
		{"python3", "-m", "venv", "--clear", env},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", dir},
		{python, "-c", imports},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return k, nil
}

// about names the kit's commit and the specification that it grades.
func (k *kit) about(ctx context.Context) string {
	commit, err := exec.CommandContext(ctx, "git", "-C", k.dir, "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		commit = []byte("without a commit")
	}
	var spec struct{ Branch string }
	text, err := os.ReadFile(filepath.Join(k.dir, "specification", "version.json"))
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil {
		spec.Branch = "an unknown version"
	}
	return fmt.Sprintf("a2a-tck %s, which grades %s of the specification", strings.TrimSpace(string(commit)), spec.Branch)
}

// run runs the kit, or what the options leave of it, against a server. Its log and
// reports are in a folder of their own.
func (k *kit) run(ctx context.Context, name, url string, options ...string) ([]result, error) {
	ctx, cancel := context.WithTimeout(ctx, kitTime)
	defer cancel()
	levels := map[string]string{}
	for _, level := range []string{"must", "should", "may"} {
		out, err := k.pytest(ctx, "--collect-only", "-q", "-m", level).Output()
		if err != nil {
			return nil, fmt.Errorf("the kit's list of %s tests: %w\n%s", level, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if id := testID(strings.TrimSpace(line)); id != "" {
				levels[id] = strings.ToUpper(level)
			}
		}
	}
	reports := filepath.Join(k.reports, name)
	if err := os.MkdirAll(reports, 0o755); err != nil {
		return nil, err
	}
	report := filepath.Join(reports, "junit.xml")
	log, err := os.Create(filepath.Join(reports, "kit.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := k.pytest(ctx, append(options, "-q", "-rA", "--tb=short", "--sut-host="+url, "--transport="+bindings, "--junitxml="+report,
		"--compatibility-report="+filepath.Join(reports, "compatibility"))...)
	cmd.Stdout, cmd.Stderr = log, log
	ended := cmd.Run() // fails when a test does; the report says more
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("the kit left no report: %w; see %s", errors.Join(ended, err), log.Name())
	}
	return parseResults(text, levels)
}

// pytest runs in the kit's folder, and leaves nothing there.
func (k *kit) pytest(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.python, append([]string{"-m", "pytest", "-p", "no:cacheprovider", "tests/compatibility/"}, args...)...)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}
