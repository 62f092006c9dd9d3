package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// checks are what every answer must pass. That data which the description allows is
// taken, and other data refused, is not among them: an agent may refuse a message for
// its content, null is the same as absent, and unknown fields are ignored.
var checks = []string{
	"not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
	"response_schema_conformance", "unsupported_method", "allow_header_conformance", "missing_required_header",
}

// maxEvents is how many events of a stream are read: a count sends two a second, and
// the first ones have all kinds.
const maxEvents = 3

// config has schemathesis use names of what is there, often enough.
func config(seen names) string {
	parameters, dictionaries := fmt.Sprintf("max-stream-events = %d\n[parameters]\n", maxEvents), ""
	for _, p := range []struct {
		name        string
		values      []string
		probability float64
	}{
		{"query.contextId", seen.contexts, 0.5},
		{"header.Last-Event-ID", []string{"0", "1", "2", "3"}, 0.8},
		{"body.message.taskId", seen.tasks, 0.3},
		{"body.message.messageId", []string{"openapi-1", "openapi-5", "openapi-6"}, 0.3},
	} {
		quoted := make([]string, 0, len(p.values))
		for _, v := range p.values {
			quoted = append(quoted, strconv.Quote(v))
		}
		parameters += fmt.Sprintf("%q = {dictionary = %q, probability = %g}\n", p.name, p.name, p.probability)
		dictionaries += fmt.Sprintf("[dictionaries.%q]\nvalues = [%s]\n", p.name, strings.Join(quoted, ", "))
	}
	patience := "[[operations]]\ninclude-path = \"/tasks/{id}:subscribe\"\nrequest-timeout = 2\n" // many a stream is quiet
	return parameters + dictionaries + patience
}

// schemathesis runs it once, against one agent, and returns the number of requests.
func (w workshop) schemathesis(ctx context.Context, url string, a subject, seen names, examples, seed int, out io.Writer) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	text, err := os.ReadFile(filepath.Join(w.root, "events", "openapi.json"))
	if err == nil {
		text, err = narrowed(text, seen, a)
	}
	description, settings := filepath.Join(w.dir, a.name+".json"), filepath.Join(w.dir, a.name+".toml")
	if err == nil {
		err = os.WriteFile(description, text, 0o600) //nolint:gosec // the folder is the module's own
	}
	if err == nil {
		err = os.WriteFile(settings, []byte(config(seen)), 0o600)
	}
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(w.python, "bin", "schemathesis"), "--config-file", settings, "run", description,
		"--url", url+a.base, "--checks", strings.Join(checks, ","), "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
		"--seed", strconv.Itoa(seed), "--max-examples", strconv.Itoa(max(1, examples*a.examples/100)), "--workers", "1",
		"--request-timeout", "20", "--generation-database", "none", "--warnings", "off",
		"--report", "har", "--report-har-path", har(w.dir, a))
	if a.base != "" {
		cmd.Args = append(cmd.Args, "--exclude-path", "/healthz", "--exclude-path", "/health") // the process's, not an agent's
	}
	cmd.Dir = w.dir
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	failed := cmd.Run()
	log := filepath.Join(w.dir, a.name+".log")
	if err := os.WriteFile(log, printed.Bytes(), 0o600); err != nil {
		return 0, err
	}
	if failed != nil {
		_, _ = out.Write(printed.Bytes())
		return 0, fmt.Errorf("schemathesis with %s, see %s: %w", a.name, log, errors.Join(failed, ctx.Err()))
	}
	return a.reached(har(w.dir, a), out)
}
