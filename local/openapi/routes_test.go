package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/openapi/contract"
)

// inPath is a parameter in a path.
var inPath = regexp.MustCompile(`\{[^}]+\}`)

// declared are the names of the door's routes, as its table has them.
func declared(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "shared", "api", "door.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, is := n.(*ast.CompositeLit)
		if !is {
			return true
		}
		if kind, is := lit.Type.(*ast.Ident); !is || kind.Name != "route" {
			return true
		}
		for _, element := range lit.Elts {
			pair, _ := element.(*ast.KeyValueExpr)
			if pair == nil {
				continue
			}
			key, _ := pair.Key.(*ast.Ident)
			if text, is := pair.Value.(*ast.BasicLit); is && key != nil && key.Name == "name" {
				name, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
		}
		return true
	})
	return names
}

// The door takes at each address that is described the methods that are described and
// no others, and it has no address that is not, but for JSON-RPC's.
func TestRoutesAreDescribed(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(readDescription(t), &doc); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t)
	for path, item := range doc.Paths {
		var want []string
		for _, method := range contract.Methods() {
			if _, is := item[method]; is {
				want = append(want, strings.ToUpper(method))
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, h.url+inPath.ReplaceAllString(path, "x"), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(resp.Header.Get("Allow"), ", ")
		got = slices.DeleteFunc(got, func(method string) bool { return method == http.MethodHead }) // with every GET
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s takes %v, %v is described (%d)", path, got, want, resp.StatusCode)
		}
	}
	names := declared(t)
	if len(names) != len(doc.Paths)+1 || !slices.Contains(names, "rpc") {
		t.Errorf("the door has %d routes, rpc among them: %v; %d paths are described", len(names), names, len(doc.Paths))
	}
}
