package holdfast_test

import (
	"bufio"
	"go/ast"
	"os"
	"strings"
	"testing"
)

// The product, and what is built around it to try it.
const trials = "local/alarms/** local/bench local/conformance local/consoletest/** local/demo local/drill local/driver local/interop/** local/openapi/** local/simulation local/webhooks infra/cost infra/deploytest/**"

// size is how much there is to read.
type size struct{ files, lines, exported int }

func (n *size) add(s *source) {
	n.files++
	n.lines += strings.Count(s.text, "\n")
	if s.file.Name.Name == "main" {
		return // nobody imports it
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				n.exported++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						n.exported++
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() {
							n.exported++
						}
					}
				}
			}
		}
	}
}

// TestSize says how much there is to read, and of how much of other people's: go test -run TestSize -v .
func TestSize(t *testing.T) {
	var product, tried, tests size
	for _, s := range load(t) {
		switch {
		case s.file == nil:
		case testCode(s):
			tests.add(s)
		case s.in(trials):
			tried.add(s)
		default:
			product.add(s)
		}
	}
	mod, err := os.Open("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mod.Close() }()
	direct, all := 0, 0
	for in := bufio.NewScanner(mod); in.Scan(); {
		if name, _, found := strings.Cut(strings.TrimPrefix(in.Text(), "\t"), " v"); found && strings.Contains(name, "/") {
			all++
			if !strings.HasSuffix(in.Text(), "// indirect") {
				direct++
			}
		}
	}
	for _, part := range []struct {
		what string
		size
	}{{"the product", product}, {"what tries it as a whole", tried}, {"tests and their kits", tests}} {
		if part.files == 0 {
			t.Errorf("%s has no files", part.what)
		}
		t.Logf("%-25s %4d files %6d lines %4d exported names", part.what, part.files, part.lines, part.exported)
	}
	t.Logf("%d modules required directly, %d in all", direct, all)
}
