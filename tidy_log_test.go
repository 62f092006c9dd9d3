package holdfast_test

import (
	_ "embed"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

//go:embed testdata/tidy/logs.txt
var logFields string

// fields are the keys that a log line may have.
var fields = parseFields(logFields)

func parseFields(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); name != "#" && strings.TrimSpace(name) != "" {
			out[name] = true
		}
	}
	return out
}

// logRules hold log lines to one vocabulary: whoever looks for a task finds all of its lines.
var logRules = []rule{{"log lines have one vocabulary", eachGo(checkLogFields)}}

func checkLogFields(s *source, f findings) {
	if s.test {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		keys := logKeys(s, call)
		said := keys
		if pkg, _ := s.used(call.Fun); pkg == "log/slog" && len(keys) == 0 {
			said = attributeKeys(s, call) // an attribute, wherever it is made
		}
		for _, key := range said {
			if !fields[key] {
				f.at(s, s.line(n), "%q is no field of log lines: use one of testdata/tidy/logs.txt, or add it there", key)
			}
		}
		if slices.Contains(keys, "task") && !slices.Contains(keys, "tenant") {
			f.at(s, s.line(n), "a line about a task says whose it is: add the field tenant")
		}
		return true
	})
}

// levels are the methods of a logger that take keys and values in turn, with the message first.
var levels = []string{"Debug", "Info", "Warn", "Error", "With"}

// logKeys are the keys of a call that logs, or that makes the attributes of a line.
func logKeys(s *source, call *ast.CallExpr) (keys []string) {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return nil
	}
	switch on := lastName(method.X); {
	case !strings.HasSuffix(on, "ogger"):
		return nil
	case method.Sel.Name == "LogAttrs":
		for _, arg := range call.Args {
			keys = append(keys, attributeKeys(s, arg)...)
		}
	case slices.Contains(levels, method.Sel.Name) && len(call.Args) > 0:
		pairs := call.Args
		if method.Sel.Name != "With" {
			pairs = pairs[1:]
		}
		keys = pairKeys(pairs)
	}
	return keys
}

// attributeKeys are those of the attributes that an expression makes with package slog.
func attributeKeys(s *source, e ast.Expr) (keys []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is || len(call.Args) == 0 {
			return true
		}
		pkg, name := s.used(call.Fun)
		if key, literal := stringOf(call.Args[0]); pkg == "log/slog" && literal && !strings.HasSuffix(name, "Value") {
			keys = append(keys, key)
		}
		return true
	})
	return keys
}

// pairKeys are every second argument; append's come behind its first.
func pairKeys(args []ast.Expr) (keys []string) {
	if len(args) == 1 {
		if call, is := args[0].(*ast.CallExpr); is && lastName(call.Fun) == "append" && len(call.Args) > 0 {
			args = call.Args[1:]
			keys = append(keys, "tenant") // whoever names the beginning has said it
		}
	}
	for i := 0; i < len(args); i += 2 {
		if key, literal := stringOf(args[i]); literal {
			keys = append(keys, key)
		}
	}
	return keys
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func stringOf(e ast.Expr) (string, bool) {
	lit, is := e.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
