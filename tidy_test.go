// Package holdfast_test keeps the tree as ARCHITECTURE.md promises it: a rule in prose that the tree breaks is
// no rule. Every rule is a function over parsed files, so testdata/tidy/plants.txt can prove on planted sources
// that it catches what it must and lets pass what it should. testdata/tidy/imports.txt is the import table.
//
// What a formatter or a type checker knows better is in .golangci.yml: gofmt, comments on exported names.
package holdfast_test

import (
	_ "embed"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdfast-a2a/holdfast"

// kits are libraries of test code: only test files import them.
const kits = "shared/agent/agenttest shared/ledger/ledgertest infra/lambdahost local/inprocess"

//go:embed testdata/tidy/imports.txt
var importTable string

//go:embed testdata/tidy/plants.txt
var plantedSources string
var table = parseTable(importTable)

// rule is one promise about the tree.
type rule struct {
	name  string
	check func([]*source, findings)
}

// rules name the promise; the messages say what to do instead.
var rules = append(logRules, []rule{
	{"imports follow the table", eachGo(checkImports)},
	{"imports keep their names", eachGo(checkImportNames)},
	// Timers pass (NewTimer, AfterFunc, context.WithTimeout): they wait, they do not tell the time, and
	// testing/synctest drives them. The pure core does not even wait.
	{"time is an argument", bans(
		ban{"time", "Now Since Until", awayFromEntrance, "take the time as an argument, or a clock from the caller"},
		ban{"time", "Sleep After Tick", awayFromEntrance, "select on a timer (time.NewTimer) and on the context: this wait cannot be stopped"},
		ban{"time", "NewTimer NewTicker AfterFunc", inLifecycle, "return the instant and let the caller wait"})},
	{"the environment is read at the entrance", bans(
		ban{"os", "Getenv LookupEnv Environ ExpandEnv", awayFromEntrance, "take the value from the configuration that local or infra/boot reads once"},
		ban{"syscall", "Getenv Environ", awayFromEntrance, "take the value from the configuration that local or infra/boot reads once"})},
	{"tests wait for conditions", bans(
		ban{"time", "Sleep", testsOfOurs, "wait for a condition: a channel, a signal of the code under test, testing/synctest; a sleep is too short on a slow machine and too long on a fast one"})},
	{"only lifecycle builds an entry", eachGo(checkEntry)},
	{"only ledger assigns a sequence", bans(
		ban{module + "/" + lifecycleDir, sealFunc, awayFromLedger, "commit through the port: only shared/ledger assigns a sequence"})},
	{"production is free of test code", eachGo(checkTestCode)},
	{"names say what is inside", each(checkNames)},
	{"nothing is called a manager", eachGo(checkNouns)},
	{"one package comment", checkPackageComments},
	{"files stay short", eachGo(checkLength)},
	{"nothing is left for later", lines(reminder, notSums, "do it now or open an issue: a reminder in the tree is never read")},
	// A step table that could never run is the programmer's mistake, found at the first start.
	{"errors are returned", bans(
		ban{"builtin", "panic", outsideAgent, "return an error: only a step table that could never run may panic (shared/agent)"})},
	{"only main exits", bans(
		ban{"os", "Exit", outsideMain, "return the error: nothing but main ends the process"},
		ban{"log", "Fatal* Panic*", outsideMain, "return the error: nothing but main ends the process"})},
	{"no test is skipped", bans(
		ban{"", "Skip Skipf SkipNow", testCode, "make the test run everywhere or remove it: a skipped test is one that nobody knows to be broken"})},
	// Behind a tag `go test ./...` finds nothing and tells nobody.
	{"tests need no build tag", lines(buildTag, isTest, "remove the build tag: tests run with plain go test")},
	{"the license is there", checkLicense},
	{"make targets exist", checkMake},
	// Test data too: recorded output is where such paths come in.
	{"nothing knows a machine", lines(machinePath, func(*source) bool { return true }, "write the path relative to the tree, or use a temporary folder")},
}...)

// The words are put together from halves, here and in the plants: no rule may catch itself.
var (
	reminder    = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	machinePath = regexp.MustCompile(`(^|[^\w./:-])/(ho` + `me|ro` + `ot|wo` + `rk)/`) // in a URL something stands before it
	buildTag    = regexp.MustCompile(`^//go:build `)
)

// Where a ban holds.
func isTest(s *source) bool         { return s.test && !s.data }
func testCode(s *source) bool       { return s.test || s.in(kits) }
func notSums(s *source) bool        { return s.path != "go.sum" && !s.data }
func testsOfOurs(s *source) bool    { return s.test && !s.in("local/demo local/bench") }
func inLifecycle(s *source) bool    { return s.file != nil && !s.test && s.in(lifecycleDir) }
func outsideAgent(s *source) bool   { return !s.test && !s.in("shared/agent") }
func outsideMain(s *source) bool    { return !s.test && s.file.Name.Name != "main" }
func awayFromLedger(s *source) bool { return !s.in(lifecycleDir + " shared/ledger/**") }

// awayFromEntrance: clock and environment are read where the program is put together. The parts of the laptop's
// process take the time as an argument like everyone else: their tests run with a time of their own.
func awayFromEntrance(s *source) bool {
	return !s.test && (!s.in("infra/boot infra/deploytest local/**") || s.in("local/asl local/node local/sqlite"))
}

func TestTidy(t *testing.T) {
	tree := load(t)
	rows := rule{"rows match the folders", func(tree []*source, f findings) { checkRows(table, folders(tree), f) }}
	words := rule{"the words that rules look for exist", checkDeadRules}
	for _, r := range append([]rule{rows, words}, rules...) {
		t.Run(r.name, func(t *testing.T) {
			found := findings{}
			r.check(tree, found)
			for _, place := range slices.Sorted(maps.Keys(found)) {
				t.Errorf("%s: %s", place, found[place])
			}
		})
	}
}

type plant struct {
	rule, title string
	tree        []*source
	want        []string
}

// TestTidyCatches plants violations. A plant names its rule and, in full, the places that the rule must report;
// one that names no place is the near miss that must pass. "every rule" is a tree without fault.
func TestTidyCatches(t *testing.T) {
	caught, passed := map[string]int{}, map[string]int{}
	for _, p := range parsePlants(t, plantedSources) {
		if p.rule != "every rule" && !slices.ContainsFunc(rules, func(r rule) bool { return r.name == p.rule }) {
			t.Errorf("plant %q is for no rule", p.rule)
		}
		for _, r := range rules {
			if p.rule != r.name && p.rule != "every rule" {
				continue
			}
			found := findings{}
			r.check(p.tree, found)
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, p.want) {
				t.Errorf("%s, %s: reported %q, want %q (%q)", r.name, p.title, got, p.want, found)
			}
			if caught[r.name] += len(p.want); len(p.want) == 0 && p.rule == r.name {
				passed[r.name]++
			}
		}
	}
	for _, r := range rules {
		if caught[r.name] == 0 || passed[r.name] == 0 {
			t.Errorf("rule %q: %d planted violations, %d near misses; plant at least one of each", r.name, caught[r.name], passed[r.name])
		}
	}
}

func TestTidyCatchesRows(t *testing.T) {
	rows := parseTable("here\ngone\nsoon planned: later\ncame planned: now\nmany/*\nnone/**\nodd ours: nowhere here")
	found := findings{}
	checkRows(rows, []string{"here", "came", "many/one", "odd"}, found)
	want := []string{"row came", "row gone", "row none/**", "row odd, nowhere"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

// Imports.

// row is one line of the import table; its header explains the fields.
type row struct{ dir, ours, outside, never, tests, planned string }

func parseTable(text string) (rows []row) {
	var names []string // of shorthands, each followed by its meaning
	for line := range strings.Lines(text) {
		if name, meaning, ok := strings.Cut(line, "="); ok && strings.HasPrefix(line, "$") {
			names = append(names, strings.TrimSpace(name), strings.TrimSpace(meaning))
			continue
		}
		var r row
		field := &r.dir
		fields := map[string]*string{"ours:": &r.ours, "outside:": &r.outside, "never:": &r.never, "tests:": &r.tests, "planned:": &r.planned}
		for word := range strings.FieldsSeq(strings.NewReplacer(names...).Replace(line)) {
			if next, ok := fields[word]; ok {
				field = next
			} else {
				*field = strings.TrimSpace(*field + " " + word)
			}
		}
		if r.dir != "" && !strings.HasPrefix(r.dir, "#") {
			rows = append(rows, r)
		}
	}
	return rows
}

func rowOf(dir string) (best row, ok bool) {
	for _, r := range table {
		if matches(r.dir, dir) && len(r.dir) >= len(best.dir) && best.dir != dir {
			best, ok = r, true
		}
	}
	return best, ok
}

// matches says whether pattern stands for the folder p: itself, with /** all below it, with /* right below it.
func matches(pattern, p string) bool {
	if base, ok := strings.CutSuffix(pattern, "/**"); ok {
		return p == base || strings.HasPrefix(p, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(p) == base
	}
	return p == pattern
}

func matchesAny(patterns, p string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool { return matches(pattern, p) })
}

// listed says whether an import path that is not ours, or a path above it, is in the list.
func listed(list, p string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(base string) bool { return matches(base+"/**", p) })
}

func checkImports(s *source, f findings) {
	r, ok := rowOf(s.dir())
	if !ok {
		f.at(s, 1, "folder %s has no row in testdata/tidy/imports.txt: decide what it may import and add one", s.dir())
		return
	}
	for _, spec := range s.file.Imports {
		p := importPath(spec)
		inside, ours := strings.CutPrefix(p, module+"/")
		domain, _, _ := strings.Cut(p, "/")
		var fine bool
		switch {
		case ours:
			fine = matchesAny(r.ours, inside) || s.test && (matches(s.dir()+"/**", inside) || matchesAny(kits+" "+r.tests, inside))
		case strings.Contains(domain, "."):
			fine = listed(r.outside, p) || s.test && listed(r.tests, p)
		default:
			fine = p != "C" && (s.test || !listed(r.never, p)) // there may be no C compiler
		}
		if !fine {
			f.at(s, s.line(spec), "%s may not import %s (ours: %q, outside: %q, never: %q): move the code where the import is allowed, or declare a port here and let local or infra/boot join the two",
				s.dir(), p, r.ours, r.outside, r.never)
		}
	}
}

// checkImportNames keeps a reader from being misled; the rules themselves follow a name back to its import.
func checkImportNames(s *source, f findings) {
	for _, spec := range s.file.Imports {
		if spec.Name != nil && (spec.Name.Name == "." || importPath(spec) == "time") {
			f.at(s, s.line(spec), "import %s under its own name: a reader must see where a name comes from", importPath(spec))
		}
	}
}

// checkRows compares the table with the folders that hold Go files.
func checkRows(rows []row, dirs []string, f findings) {
	for _, r := range rows {
		here := slices.ContainsFunc(dirs, func(dir string) bool { return matches(r.dir, dir) })
		switch {
		case r.planned == "" && !here:
			f["row "+r.dir] = "the folder is gone: remove its row in testdata/tidy/imports.txt, or say after planned: why it will come"
		case r.planned != "" && here:
			f["row "+r.dir] = "the folder is there: remove planned: from its row in testdata/tidy/imports.txt"
		}
		for name := range strings.FieldsSeq(r.ours) {
			if !slices.ContainsFunc(rows, func(o row) bool { return matches(name, o.dir) || matches(o.dir, name) }) {
				f["row "+r.dir+", "+name] = "the row names a folder that has none: remove the name"
			}
		}
	}
}

func checkTestCode(s *source, f findings) {
	for _, spec := range s.file.Imports {
		p := importPath(spec)
		if !testCode(s) && (listed("testing", p) || strings.HasSuffix(p, "test")) {
			f.at(s, s.line(spec), "production code does not import %s: move this into a _test.go file or a kit (%s)", p, kits)
		}
	}
}

// What code may use.

// ban forbids names of a package somewhere. The package is an import path, "builtin" for what is called by its
// bare name, or "" for methods and fields; a name may end in *.
type ban struct {
	pkg, names string
	holds      func(*source) bool
	instead    string
}

func bans(list ...ban) func([]*source, findings) {
	return eachGo(func(s *source, f findings) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			pkg, name := s.used(n)
			for _, b := range list {
				isIt := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
				if pkg == b.pkg && name != "" && slices.ContainsFunc(strings.Fields(b.names), isIt) && b.holds(s) {
					f.at(s, s.line(n), "%s: %s", strings.TrimPrefix(path.Base(pkg)+"."+name, ".."), b.instead)
				}
			}
			return true
		})
	})
}

// Who writes the ledger. checkDeadRules fails when one of these is renamed.
const (
	lifecycleDir = "shared/lifecycle"
	entryType    = "Entry" // one event in its envelope
	sealFunc     = "Seal"  // numbers and chains entries
)

// checkEntry refuses literals with fields and other names for the type. Adapters decode what was stored into a
// plain `var e lifecycle.Entry`; test code builds what it likes.
func checkEntry(s *source, f findings) {
	if testCode(s) {
		return
	}
	isEntry := func(e ast.Expr) bool {
		pkg, name := s.used(e)
		return pkg == module+"/"+lifecycleDir && name == entryType
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		bad := false
		switch n := n.(type) {
		case *ast.TypeSpec:
			bad = isEntry(n.Type)
		case *ast.CompositeLit:
			bad = isEntry(n.Type) && len(n.Elts) > 0
			if list, ok := n.Type.(*ast.ArrayType); ok && isEntry(list.Elt) {
				bad = slices.ContainsFunc(n.Elts, func(e ast.Expr) bool { lit, ok := e.(*ast.CompositeLit); return ok && len(lit.Elts) > 0 })
			}
		}
		if bad {
			f.at(s, s.line(n), "send lifecycle a command, or decode a stored entry into a variable: only lifecycle builds one")
		}
		return true
	})
}

func checkDeadRules(tree []*source, f findings) {
	for _, declaration := range []string{"\ntype " + entryType + " ", "\nfunc " + sealFunc + "("} {
		if !slices.ContainsFunc(tree, func(s *source) bool { return inLifecycle(s) && strings.Contains(s.text, declaration) }) {
			f[lifecycleDir+declaration] = "a rule of tidy_test.go looks for this and it is gone: give the rule the new name"
		}
	}
}

// Names and sizes.

const bannedNames = "util utils common helper helpers manager misc types models base lib pkg core"

// checkNames looks at folders and at the last word of a file's name: task_helpers.go says as little as helpers.go.
func checkNames(s *source, f findings) {
	stem, _, _ := strings.Cut(path.Base(s.path), ".")
	stem = strings.TrimSuffix(stem, "_test")
	for _, name := range append(strings.Split(s.dir(), "/"), stem[strings.LastIndex(stem, "_")+1:]) {
		if slices.Contains(strings.Fields(bannedNames), strings.ToLower(name)) {
			f.at(s, 1, "%q says nothing about what is inside: name it after what it adapts to or what it decides", name)
		}
	}
}

// checkNouns leaves other people's names alone: what follows a dot, and keys of literals.
func checkNouns(s *source, f findings) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.KeyValueExpr, *ast.SelectorExpr:
			return false
		case *ast.Ident:
			if strings.HasSuffix(n.Name, "Manager") || n.Name == "manager" {
				f.at(s, s.line(n), "%s: say what it does (ledger, runner, sweep); there is one word for each thing", n.Name)
			}
		}
		return true
	})
}

// checkPackageComments: exactly one production file explains a package. In a folder of tests alone, at least one
// says above its package clause what is real, what is faked and what may be asserted.
func checkPackageComments(tree []*source, f findings) {
	for _, dir := range folders(tree) {
		files := slices.DeleteFunc(slices.Clone(tree), func(s *source) bool { return s.file == nil || s.dir() != dir })
		onlyTests := !slices.ContainsFunc(files, func(s *source) bool { return !s.test })
		explained := ""
		for _, s := range files {
			switch {
			case s.test != onlyTests || s.file.Doc.Text() == "":
			case explained != "" && !onlyTests:
				f.at(s, s.line(s.file), "%s explains package %s already: keep one, set the other apart by an empty line", explained, dir)
			default:
				explained = s.path
			}
		}
		if explained == "" {
			f.at(files[0], 1, "folder %s has no package comment: write what a stranger must know first", dir)
		}
	}
}

func checkLength(s *source, f findings) {
	const maxLines, maxMainLines = 600, 40 // 400 is a question in review
	n := strings.Count(s.text, "\n")
	switch {
	case ast.IsGenerated(s.file):
	case matches("functions/*", s.dir()) && path.Base(s.path) == "main.go" && n > maxMainLines:
		f.at(s, n, "at most %d lines: a function's main wires nothing, infra/boot does", maxMainLines)
	case n > maxLines:
		f.at(s, n, "at most %d lines: split it by noun, a test by story", maxLines)
	}
}

// The rest of the tree.

func checkLicense(tree []*source, f findings) {
	apache := regexp.MustCompile(`Apache License\s+Version 2\.0`)
	if !slices.ContainsFunc(tree, func(s *source) bool { return s.path == "LICENSE" && apache.MatchString(s.text) }) {
		f["LICENSE"] = "put the full text of the Apache License 2.0 here"
	}
}

var (
	makeFolder  = regexp.MustCompile(`\s\./((?:functions|infra|local|shared|statemachine|events)[a-z0-9/]*)`)
	makeCommand = regexp.MustCompile("(?:^\\s*(?:\\$ )?|`|&& )make ([a-z][a-z0-9-]*)") // a line of its own, or a code span
)

// checkMake looks for targets that a text names and for folders that the Makefile names.
func checkMake(tree []*source, f findings) {
	isTarget := func(name string) bool {
		return slices.ContainsFunc(tree, func(s *source) bool { return s.path == "Makefile" && strings.Contains("\n"+s.text, "\n"+name+":") })
	}
	each(func(s *source, f findings) {
		for i, line := range strings.Split(s.text, "\n") {
			for _, m := range makeCommand.FindAllStringSubmatch(line, -1) {
				if path.Ext(s.path) == ".md" && !isTarget(m[1]) {
					f.at(s, i+1, "make %s is no target: correct the text or add the target", m[1])
				}
			}
			for _, m := range makeFolder.FindAllStringSubmatch(line, -1) {
				if s.path == "Makefile" && !slices.Contains(folders(tree), strings.TrimRight(m[1], "/")) {
					f.at(s, i+1, "folder %s is gone: remove the target or give it the new place", m[1])
				}
			}
		}
	})(tree, f)
}

// parsePlants reads "== rule: title", files after "-- path --", and places after "-- want --". A broken bar
// stands in the middle of words that must not stand in this tree; "// 600 lines" are so many.
func parsePlants(t *testing.T, text string) (list []plant) {
	t.Helper()
	for _, block := range strings.Split("\n"+strings.ReplaceAll(text, "¦", ""), "\n== ")[1:] {
		head, body, _ := strings.Cut(block, "\n")
		var p plant
		p.rule, p.title, _ = strings.Cut(head, ": ")
		for _, part := range strings.Split("\n"+body, "\n-- ")[1:] {
			name, content, _ := strings.Cut(part, " --\n")
			if name == "want" {
				p.want = slices.Sorted(strings.FieldsSeq(content))
				break
			}
			content = strings.ReplaceAll(content, "// 600 lines", strings.Repeat("//\n", 599)+"//")
			p.tree = append(p.tree, newSource(t, name, strings.TrimRight(content, "\n")+"\n"))
		}
		list = append(list, p)
	}
	return list
}
