package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed testdata/musts.tsv
var mustsTable string

// must is a row of the table.
type must struct {
	line    int
	section string
	quote   string
	binds   string
	proof   []string
	note    string
}

// reasons are why a sentence that binds a server needs no test: what it speaks of
// is not offered, and the card says so, or it cannot happen.
var reasons = map[string]string{
	"no-message":        "every message begins or continues a task; none is answered with a message alone",
	"no-receipts":       "authorization receipts cannot be handed in over HTTP",
	"always-streaming":  "every agent streams",
	"always-configured": "an agent declares an extended card when it has one",
}

// bound are those whom a sentence binds.
var bound = []string{"server", "client", "library", "binding", "operator"}

// proven says whether tests prove the row.
func (m must) proven() bool { return m.binds == "server" && reasons[m.proof[0]] == "" }

var (
	sectionForm = regexp.MustCompile(`^\d+(\.\d+)*$`)
	proofForm   = regexp.MustCompile(`^[a-z0-9/]+\.Test\w+$|^kit:test_\w+(\.\w+)+$`)
)

// parseMusts reads the table and finds what is wrong with it by itself.
func parseMusts(text string) ([]must, error) {
	var rows []must
	var problems []error
	seen := map[string]int{}
	for line, fields := range tsv(text) {
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("musts.tsv:%d: %s", line, fmt.Sprintf(format, args...)))
		}
		if len(fields) < 4 || len(fields) > 5 {
			wrong("%d columns, want 4 or 5", len(fields))
			continue
		}
		m := must{line: line, section: fields[0], quote: fields[1], binds: fields[2], proof: strings.Fields(fields[3])}
		if len(fields) == 5 {
			m.note = fields[4]
		}
		if !sectionForm.MatchString(m.section) || !inScope(m.section) {
			wrong("section %q is not of the chapters in question", m.section)
		}
		if len(keywords(m.quote)) == 0 {
			wrong("the quote holds no MUST, SHALL or REQUIRED")
		}
		if earlier := seen[m.section+"\t"+m.quote]; earlier > 0 {
			wrong("the quote is that of line %d", earlier)
		}
		seen[m.section+"\t"+m.quote] = line
		if err := m.check(); err != nil {
			wrong("%s", err)
			continue
		}
		rows = append(rows, m)
	}
	return rows, errors.Join(problems...)
}

// check holds the proof against whom the row binds.
func (m must) check() error {
	switch {
	case !slices.Contains(bound, m.binds):
		return fmt.Errorf("it binds %q, want one of %v", m.binds, bound)
	case len(m.proof) == 0:
		return errors.New("no proof: name a test, or a reason of table.go")
	case m.binds != "server" && !slices.Equal(m.proof, []string{"-"}):
		return fmt.Errorf("a sentence that binds the %s is not ours to prove: write -", m.binds)
	case m.binds != "server" || len(m.proof) == 1 && reasons[m.proof[0]] != "":
		return nil
	}
	for _, p := range m.proof {
		if !proofForm.MatchString(p) {
			return fmt.Errorf("%q is neither a test nor a reason", p)
		}
	}
	return nil
}

// tsv yields the rows of a table with their line numbers; lines that begin with #
// and empty ones are left out.
func tsv(text string) func(yield func(int, []string) bool) {
	return func(yield func(int, []string) bool) {
		line := 0
		for s := range strings.Lines(text) {
			line++
			s = strings.TrimRight(s, "\r\n")
			if s == "" || strings.HasPrefix(s, "#") {
				continue
			}
			if !yield(line, strings.Split(s, "\t")) {
				return
			}
		}
	}
}

// proofs are the tests that the table names: of Go as folder.TestName, and of the
// kit as file.Class.test.
func proofs(rows []must) (goTests, kitTests []string) {
	for _, m := range rows {
		if !m.proven() {
			continue
		}
		for _, p := range m.proof {
			if id, ok := strings.CutPrefix(p, "kit:"); ok {
				kitTests = append(kitTests, id)
			} else {
				goTests = append(goTests, p)
			}
		}
	}
	for _, list := range []*[]string{&goTests, &kitTests} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return goTests, kitTests
}
