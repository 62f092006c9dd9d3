package holdfast_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// findings are messages by place, so a rule reports a place once.
type findings map[string]string

func (f findings) at(s *source, line int, say string, args ...any) {
	f[fmt.Sprintf("%s:%d", s.path, line)] = fmt.Sprintf(say, args...)
}

// source is a text file of the tree, parsed if it is Go.
type source struct {
	path, text string
	test       bool // _test.go
	data       bool // below a testdata folder: only the machine rule reads it
	set        *token.FileSet
	file       *ast.File
	imports    map[string]string // local name → path
}

func newSource(t *testing.T, name, text string) *source {
	t.Helper()
	s := &source{path: name, text: text, test: strings.HasSuffix(name, "_test.go"), data: slices.Contains(strings.Split(name, "/"), "testdata")}
	if path.Ext(name) != ".go" || s.data {
		return s
	}
	s.set, s.imports = token.NewFileSet(), map[string]string{}
	var err error
	if s.file, err = parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	for _, spec := range s.file.Imports {
		local := path.Base(importPath(spec))
		if spec.Name != nil {
			local = spec.Name.Name
		}
		s.imports[local] = importPath(spec)
	}
	return s
}

func (s *source) dir() string             { return path.Dir(s.path) }
func (s *source) in(patterns string) bool { return matchesAny(patterns, s.dir()) }
func (s *source) line(n ast.Node) int     { return s.set.Position(n.Pos()).Line }

// used says what a node uses, in the words of ban.
func (s *source) used(n ast.Node) (pkg, name string) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok {
			pkg = s.imports[id.Name]
		}
		return pkg, n.Sel.Name
	case *ast.StarExpr:
		return s.used(n.X)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && !s.hangsUp(n) {
			return "builtin", id.Name
		}
	}
	return "", ""
}

// hangsUp recognises panic(http.ErrAbortHandler), which is how net/http wants to be told to drop a connection.
func (s *source) hangsUp(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(e ast.Expr) bool { pkg, name := s.used(e); return pkg == "net/http" && name == "ErrAbortHandler" })
}

func importPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, "`\"") }

// folders lists those that hold Go files.
func folders(tree []*source) []string {
	dirs := map[string]bool{}
	eachGo(func(s *source, _ findings) { dirs[s.dir()] = true })(tree, nil)
	return slices.Sorted(maps.Keys(dirs))
}

func eachIf(holds func(*source) bool, check func(*source, findings)) func([]*source, findings) {
	return func(tree []*source, f findings) {
		for _, s := range tree {
			if holds(s) {
				check(s, f)
			}
		}
	}
}

func each(check func(*source, findings)) func([]*source, findings) {
	return eachIf(func(s *source) bool { return !s.data }, check)
}

func eachGo(check func(*source, findings)) func([]*source, findings) {
	return eachIf(func(s *source) bool { return s.file != nil }, check)
}

func lines(bad *regexp.Regexp, holds func(*source) bool, instead string) func([]*source, findings) {
	return eachIf(holds, func(s *source, f findings) {
		for i, line := range strings.Split(s.text, "\n") {
			if bad.MatchString(line) {
				f.at(s, i+1, "%s", instead)
			}
		}
	})
}

// load reads the text files of the tree. What is built or stored there by running it is not ours.
func load(t *testing.T) (tree []*source) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".holdfast", "node_modules", "dist"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(p)
		if err == nil && len(text) < 1<<20 && !slices.Contains(text, 0) {
			tree = append(tree, newSource(t, p, string(text)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
