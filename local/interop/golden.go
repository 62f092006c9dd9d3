package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/holdfast-a2a/holdfast/local/interop/trace"
)

// golden has the JavaScript SDK's types read and write what callers saw of the golden
// traces, and holds the result against the table of differences. With update it writes
// the SDK's part of the table; reasons stay.
func (w workshop) golden(ctx context.Context, update bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	dir := filepath.Join(w.root, "events", "export")
	f, err := trace.Read(os.DirFS(dir))
	if err != nil {
		return "", err
	}
	docs, err := f.AllSeen()
	if err != nil {
		return "", err
	}
	version, wrote, err := w.through(ctx, docs)
	if err != nil {
		return "", err
	}
	actual, err := trace.Trips(trace.JavaScript, docs, wrote)
	if err != nil {
		return "", err
	}
	if update {
		f.JavaScript = version
		f.Differences = append(trace.Of(trace.Go, f.Differences), trace.Renew(f.Differences, actual)...)
		raw, err := trace.Encode(f.Golden)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "golden.json"), raw, 0o600); err != nil {
			return "", err
		}
	}
	if version != f.JavaScript {
		return "", fmt.Errorf("the golden traces were made with %s, here is %s: see events/export/migrations/README.md", f.JavaScript, version)
	}
	if err := trace.Judge(trace.Of(trace.JavaScript, f.Differences), actual); err != nil {
		return "", err
	}
	return fmt.Sprintf("golden traces: %d documents are the same behind the types of %s, but for %d sorts of differences that are listed", len(docs), version, len(actual)), nil
}

// through is what the SDK's types write of documents that they have read, and the
// SDK's version.
func (w workshop) through(ctx context.Context, docs []trace.Document) (version string, wrote [][]byte, err error) {
	var in bytes.Buffer
	for _, d := range docs {
		in.Write(d.Raw)
		in.WriteByte('\n')
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(w.dir, "javascript", "trace.mjs"))
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", nil, fmt.Errorf("trace.mjs: %w", err)
	}
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	var who struct{ Client, Version string }
	if err := json.Unmarshal(lines[0], &who); err != nil || who.Version == "" {
		return "", nil, errors.Join(fmt.Errorf("trace.mjs begins with %q", lines[0]), err)
	}
	return who.Client + " " + who.Version, lines[1:], nil
}
