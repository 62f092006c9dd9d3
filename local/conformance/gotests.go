package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// testsTime bounds the run of the proving tests.
const testsTime = 10 * time.Minute

// byFolder sorts tests, which are named folder.TestName, by their folders.
func byFolder(tests []string) map[string][]string {
	out := map[string][]string{}
	for _, t := range tests {
		i := strings.LastIndexByte(t, '.')
		out[t[:i]] = append(out[t[:i]], t[i+1:])
	}
	return out
}

// missing are the tests that no file of the tree declares.
func missing(tree fs.FS, tests []string) ([]string, error) {
	var out []string
	for folder, names := range byFolder(tests) {
		files, err := fs.Glob(tree, folder+"/*_test.go")
		if err != nil {
			return nil, err
		}
		declared := map[string]bool{}
		for _, path := range files {
			src, err := fs.ReadFile(tree, path)
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					declared[f.Name.Name] = true
				}
			}
		}
		for _, name := range names {
			if !declared[name] {
				out = append(out, folder+"."+name)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// runTests runs exactly the given tests. Each must have run and passed.
func runTests(ctx context.Context, root string, tests []string) error {
	ctx, cancel := context.WithTimeout(ctx, testsTime)
	defer cancel()
	var problems []error
	folders := byFolder(tests)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		names := folders[folder]
		for i, n := range names {
			names[i] = regexp.QuoteMeta(n)
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-json", "-run", "^("+strings.Join(names, "|")+")$", "./"+filepath.ToSlash(folder))
		cmd.Dir = root
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		passed, failed := outcomes(out)
		for _, n := range names {
			if !passed[n] {
				problems = append(problems, fmt.Errorf("%s.%s did not pass: %s", folder, n, failed[n]))
			}
		}
		if err != nil && len(problems) == 0 {
			problems = append(problems, fmt.Errorf("go test ./%s: %w: %s%s", folder, err, stderr.String(), failed[""]))
		}
	}
	return errors.Join(problems...)
}

// chatter is what go test says about tests that do not fail.
var chatter = regexp.MustCompile(`^ *(=== |--- PASS)`)

// outcomes are the top-level tests that passed, and what was printed; under the
// empty name, by the package.
func outcomes(out []byte) (passed map[string]bool, printed map[string]string) {
	passed, printed = map[string]bool{}, map[string]string{}
	lines := json.NewDecoder(bytes.NewReader(out))
	for {
		var e event
		if lines.Decode(&e) != nil {
			return passed, printed
		}
		name, _, _ := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "output" && !chatter.MatchString(e.Output):
			printed[name] += e.Output
		case e.Action == "pass" && e.Test == name && name != "":
			passed[name] = true
		}
	}
}
