package infra_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// kept are variables that the template leaves alone: their defaults are made for Lambda, and a second place for a limit is one too many. Whoever
// needs another value sets it on the function.
var kept = []string{"LEASE", "RENEWAL", "GRACE", "RESERVE", "WAIT_BUDGET", "KEEP_ALIVE", "STREAM_LIMIT", "SWEEP_MOST", "HEALTH_LATE", "HEALTH_WINDOW", "WEBHOOK_NETWORKS"}

// checkEnvironment compares what the template gives with what infra/boot reads.
func checkEnvironment(t *testing.T, all stacks) (violations []string) {
	given := maps.Clone(child(all[root].doc, "Globals", "Function", "Environment", "Variables"))
	for _, f := range all[root].resources("AWS::Serverless::Function") {
		maps.Copy(given, child(f.properties, "Environment", "Variables"))
	}
	read := map[string]bool{}
	for _, name := range bootNames(t) {
		read["HOLDFAST_"+name] = true
	}
	for name := range given {
		if !read[name] {
			violations = append(violations, fmt.Sprintf("%s is given and never read", name))
		}
	}
	for name := range read {
		if _, ok := given[name]; ok == slices.Contains(kept, strings.TrimPrefix(name, "HOLDFAST_")) {
			violations = append(violations, fmt.Sprintf("%s is read; given: %v", name, ok))
		}
	}
	for name := range child(all[root].doc, "Globals", "Function", "Environment", "Variables") {
		if strings.Contains(name, "OIDC") || strings.Contains(name, "KEYS") || strings.Contains(name, "AUTH") {
			violations = append(violations, fmt.Sprintf("%s is for the API function alone", name))
		}
	}
	for _, f := range all[root].resources("AWS::Serverless::Function") {
		want := "<nil>"
		if slices.Contains(ringHolders, strings.TrimSuffix(f.id, "Function")) {
			want = "{Ref: KmsKeyArn}"
		}
		if got := show(child(f.properties, "Environment", "Variables")["HOLDFAST_KMS_KEY"]); got != want {
			violations = append(violations, fmt.Sprintf("%s: HOLDFAST_KMS_KEY is %s, want %s", f.id, got, want))
		}
	}
	if child(all[root].doc, "Parameters", "ApiKeys")["NoEcho"] != true {
		violations = append(violations, "the API keys are shown by the console")
	}
	return violations
}

// bootNames reads the list of variables out of infra/boot, which keeps it to itself.
func bootNames(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "boot/variables.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	var list *ast.CompositeLit
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		switch v := spec.Values[0].(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(v.Value); err == nil {
				constants[spec.Names[0].Name] = text
			}
		case *ast.CompositeLit:
			if spec.Names[0].Name == "names" {
				list = v
			}
		}
		return true
	})
	if list == nil {
		t.Fatal("infra/boot/variables.go has no list called names any more: correct this test")
	}
	for _, e := range list.Elts {
		if id, ok := e.(*ast.Ident); ok && constants[id.Name] != "" {
			names = append(names, constants[id.Name])
		} else {
			t.Errorf("infra/boot/variables.go: names holds something that is no constant of that file")
		}
	}
	return names
}

// stateTimeout is how long a state of a machine waits for its function; 0 for none.
func stateTimeout(definition, name string) int {
	var d struct {
		States map[string]struct{ TimeoutSeconds int }
	}
	if err := json.Unmarshal([]byte(definition), &d); err != nil {
		return 0
	}
	return d.States[name].TimeoutSeconds
}
