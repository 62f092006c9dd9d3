package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// leastChecks is how many checks there are: one that was never made has not passed.
const leastChecks = 4*31 + 14

// line is what the driver says: the outcome of a check, a figure in milliseconds, or what
// browser it drives.
type line struct {
	Check   string  `json:"check"`
	Note    string  `json:"note"`
	Failed  string  `json:"failed"` // the reason; empty: it passed
	Figure  string  `json:"figure"`
	Value   float64 `json:"value"`
	Version string  `json:"version"`
}

// report is all that it said.
type report struct {
	version string
	passed  []string
	failed  []string
	figures []string
}

// readReport reads the driver's lines and prints them for people.
func readReport(in io.Reader, out io.Writer) *report {
	r := &report{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		switch err := json.Unmarshal(lines.Bytes(), &l); {
		case err != nil:
			r.fail(out, "a line that is none: "+lines.Text(), err.Error())
		case l.Version != "":
			r.version = l.Version
			fmt.Fprintln(out, l.Version)
		case l.Figure != "":
			r.figures = append(r.figures, fmt.Sprintf("%s %.0f ms", l.Figure, l.Value))
		case l.Check == "":
			r.fail(out, "a line that is none: "+lines.Text(), "it names no check")
		case l.Failed != "":
			r.fail(out, l.Check, l.Failed)
		case slices.Contains(r.passed, l.Check):
			r.fail(out, l.Check, "it was made twice")
		default:
			r.passed = append(r.passed, l.Check)
			fmt.Fprintln(out, strings.TrimSpace("ok    "+l.Check+"  "+l.Note))
		}
	}
	if err := lines.Err(); err != nil {
		r.fail(out, "the driver's lines", err.Error())
	}
	return r
}

func (r *report) fail(out io.Writer, check, why string) {
	r.failed = append(r.failed, check)
	fmt.Fprintf(out, "FAIL  %s: %s\n", check, why)
}

// summary is the last line, as an error when anything failed.
func (r *report) summary(took time.Duration, only string, out io.Writer) error {
	for _, f := range r.figures {
		fmt.Fprintln(out, "     ", f)
	}
	switch {
	case len(r.failed) > 0:
		return fmt.Errorf("%d of %d checks failed: %s", len(r.failed), len(r.failed)+len(r.passed), strings.Join(r.failed, "; "))
	case only != "":
		fmt.Fprintf(out, "%d checks of %s passed, %.0f s\n", len(r.passed), only, took.Seconds())
		return nil
	case len(r.passed) < leastChecks:
		return fmt.Errorf("%d checks were made, there are %d", len(r.passed), leastChecks)
	case len(r.figures) == 0:
		return errors.New("no figures")
	}
	fmt.Fprintf(out, "PASS console-test: %d checks in %s; %s; pictures in dist/console, %.0f s\n", len(r.passed), r.version, strings.Join(r.figures, ", "), took.Seconds())
	return nil
}
