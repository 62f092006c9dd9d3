package main

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed testdata/deviations.tsv
var deviationsTable string

// deviation is something that the kit does not pass, and why.
type deviation struct {
	line    int
	outcome string
	test    string
	cause   string
	reason  string
	form    *regexp.Regexp
}

// causes say where a deviation lies.
var causes = []string{
	"binding",    // it is about a binding that the card does not declare
	"kit",        // it grades something else than 1.0.1 says
	"capability", // it tests the refusal of what is offered, or what is not offered and need not be
	"ours",       // the specification would have it otherwise, and we do not
}

// outcomes of a test that is not passed. An xfail is the kit's failure of a SHOULD.
var bad = []string{"fail", "xfail", "skip"}

func parseDeviations(text string) ([]deviation, error) {
	var rows []deviation
	var problems []error
	seen := map[string]bool{}
	for line, fields := range tsv(text) {
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("deviations.tsv:%d: %s", line, fmt.Sprintf(format, args...)))
		}
		if len(fields) != 4 {
			wrong("%d columns, want 4", len(fields))
			continue
		}
		d := deviation{line: line, outcome: fields[0], test: fields[1], cause: fields[2], reason: fields[3]}
		if !slices.Contains(bad, d.outcome) {
			wrong("outcome %q, want one of %v", d.outcome, bad)
		}
		if !slices.Contains(causes, d.cause) {
			wrong("cause %q, want one of %v", d.cause, causes)
		}
		if !strings.Contains(d.reason, "§") {
			wrong("the reason cites no section")
		}
		if seen[d.test] {
			wrong("%s has a row already", d.test)
		}
		seen[d.test] = true
		d.form = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(d.test), `\*`, ".*") + "$")
		rows = append(rows, d)
	}
	return rows, errors.Join(problems...)
}
