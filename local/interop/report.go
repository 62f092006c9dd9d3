package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// scenarios are what each client must go through, by name.
func scenarios() []string {
	return []string{
		"card",
		"blocking send",
		"non-blocking send and poll",
		"streaming to the end",
		"cut and resubscribe",
		"resume behind a cursor",
		"quiet stream",
		"input-required and answer",
		"cancel",
		"push configuration",
		"list with paging",
		"terminal-task errors",
		"non-ASCII text",
		"1 MB data part",
		"null values",
	}
}

// maxLineBytes bounds one line of a client.
const maxLineBytes = 1 << 20

// outcome is what a client's program says of one scenario.
type outcome struct {
	Scenario string `json:"scenario"`
	Note     string `json:"note"`
	Failed   string `json:"failed"` // the reason; empty: it passed
}

// report is what a client's program said: its version, and an outcome for each of
// our scenarios, in our order.
type report struct {
	client, version, binding string
	outcomes                 []outcome
}

// readReport reads a program's lines. Scenarios that it did not tell of have
// failed, and so have those that it told of twice or that nobody knows.
func readReport(r io.Reader, client, binding string) report {
	out := report{client: client, version: "unknown", binding: binding}
	told := map[string]outcome{}
	var odd []outcome
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var line struct {
			Client  string `json:"client"`
			Version string `json:"version"`
			outcome
		}
		err := json.Unmarshal(lines.Bytes(), &line)
		_, doubled := told[line.Scenario]
		switch {
		case err != nil:
			odd = append(odd, outcome{Scenario: "?", Failed: fmt.Sprintf("no line for the driver: %.200q", lines.Text())})
		case line.Client != "":
			out.client, out.version = line.Client, line.Version
		case doubled:
			odd = append(odd, outcome{Scenario: line.Scenario, Failed: "the program told of it twice"})
		default:
			told[line.Scenario] = line.outcome
		}
	}
	if err := lines.Err(); err != nil {
		odd = append(odd, outcome{Scenario: "?", Failed: err.Error()})
	}
	for _, name := range scenarios() {
		o, ok := told[name]
		if !ok {
			o = outcome{Scenario: name, Failed: "the program did not get there"}
		}
		out.outcomes = append(out.outcomes, o)
		delete(told, name)
	}
	for name := range told {
		odd = append(odd, outcome{Scenario: name, Failed: "the driver knows no such scenario"})
	}
	out.outcomes = append(out.outcomes, odd...)
	return out
}

// lines are what is printed, one for each scenario.
func (r report) lines() []string {
	var list []string
	for _, o := range r.outcomes {
		line := fmt.Sprintf("PASS  %-17s %-7s %-9s  %s", r.client, r.version, r.binding, o.Scenario)
		switch {
		case o.Failed != "":
			line = "FAIL" + line[len("PASS"):] + ": " + o.Failed
		case o.Note != "":
			line += " (" + o.Note + ")"
		}
		list = append(list, line)
	}
	return list
}
