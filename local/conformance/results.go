package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// result is what became of one of the kit's tests.
type result struct {
	id      string // as in test_x.TestY.test_z[jsonrpc]
	level   string // MUST, SHOULD or MAY
	outcome string // pass, fail, xfail or skip
	message string
}

// testID is a result's ID of a line of pytest's list, empty when it is no test.
func testID(node string) string {
	path, rest, ok := strings.Cut(node, ".py::")
	if !ok {
		return ""
	}
	name, param, _ := strings.Cut(rest, "[")
	id := path[strings.LastIndexByte(path, '/')+1:] + "." + strings.ReplaceAll(name, "::", ".")
	if param != "" {
		id += "[" + param
	}
	return id
}

// parseResults reads pytest's report.
func parseResults(report []byte, levels map[string]string) ([]result, error) {
	type note struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
	var doc struct {
		Cases []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *note  `xml:"failure"`
			Error   *note  `xml:"error"`
			Skipped *note  `xml:"skipped"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(report, &doc); err != nil {
		return nil, fmt.Errorf("the kit's report: %w", err)
	}
	var all []result
	for _, c := range doc.Cases {
		// The class is tests.compatibility.folder.test_file, and the test's class if it has one.
		class := c.Class[strings.LastIndex(c.Class, ".test_")+1:]
		r := result{id: class + "." + c.Name, outcome: "pass"}
		switch {
		case c.Failure != nil:
			r.outcome, r.message = "fail", c.Failure.Message
		case c.Error != nil:
			r.outcome, r.message = "fail", c.Error.Message
		case c.Skipped != nil && c.Skipped.Type == "pytest.xfail":
			r.outcome, r.message = "xfail", c.Skipped.Message
		case c.Skipped != nil:
			r.outcome, r.message = "skip", c.Skipped.Message
		}
		if r.level = levels[r.id]; r.level == "" {
			return nil, fmt.Errorf("the kit's test %s is in none of its lists", r.id)
		}
		all = append(all, r)
	}
	return all, nil
}

// replaced are results with those of another run in the places of the same tests.
func replaced(results, others []result) []result {
	out := slices.Clone(results)
	for _, other := range others {
		if i := slices.IndexFunc(out, func(r result) bool { return r.id == other.id }); i >= 0 {
			out[i] = other
		}
	}
	return out
}

// verdict is what the results come to beside the listed deviations.
type verdict struct {
	counts map[string]map[string]int // by level and outcome
	listed map[string]map[string]int // those of them that are listed
	by     map[string]int            // tests by listed cause
	used   map[int]int               // tests by the row that lists them
}

// judge holds the results against the list. A MAY that is skipped needs no row.
func judge(results []result, rows []deviation) (verdict, error) {
	v := verdict{counts: map[string]map[string]int{}, listed: map[string]map[string]int{}, by: map[string]int{}, used: map[int]int{}}
	for _, level := range []string{"MUST", "SHOULD", "MAY"} {
		v.counts[level], v.listed[level] = map[string]int{}, map[string]int{}
	}
	var problems []error
	for _, r := range results {
		v.counts[r.level][r.outcome]++
		if r.outcome == "pass" {
			continue
		}
		i := slices.IndexFunc(rows, func(d deviation) bool { return d.outcome == r.outcome && d.form.MatchString(r.id) })
		switch {
		case i >= 0:
			v.used[rows[i].line]++
			v.listed[r.level][r.outcome]++
			v.by[rows[i].cause]++
		case r.level != "MAY" || r.outcome != "skip":
			problems = append(problems, fmt.Errorf("%s %s: %s: %s", r.level, r.outcome, r.id, r.message))
		}
	}
	for _, d := range rows {
		if v.used[d.line] == 0 {
			problems = append(problems, fmt.Errorf("deviations.tsv:%d: nothing has the outcome %s under %s any more: remove the row", d.line, d.outcome, d.test))
		}
	}
	if len(results) == 0 {
		problems = append(problems, errors.New("the kit ran no test"))
	}
	return v, errors.Join(problems...)
}

// String is the numbers on one line.
func (v verdict) String() string {
	var parts []string
	for _, level := range []string{"MUST", "SHOULD", "MAY"} {
		c, l := v.counts[level], v.listed[level]
		part := fmt.Sprintf("%s %d passed, %d failed", level, c["pass"], c["fail"]+c["xfail"])
		if n := l["fail"] + l["xfail"]; n > 0 {
			part += fmt.Sprintf(" (%d listed)", n)
		}
		part += fmt.Sprintf(", %d skipped", c["skip"])
		if n := l["skip"]; n > 0 {
			part += fmt.Sprintf(" (%d listed)", n)
		}
		parts = append(parts, part)
	}
	var causes []string
	for _, c := range slices.Sorted(maps.Keys(v.by)) {
		causes = append(causes, fmt.Sprintf("%s %d", c, v.by[c]))
	}
	return strings.Join(parts, "; ") + "; listed by cause: " + strings.Join(causes, ", ")
}

// counted says which of the kit's tests that the table counts on have not passed,
// on a binding where they ran.
func counted(results []result, tests []string) error {
	var problems []error
	for _, t := range tests {
		passed := false
		for _, r := range results {
			if name, _, _ := strings.Cut(r.id, "["); name != t {
				continue
			}
			passed = passed || r.outcome == "pass"
			if r.outcome == "fail" {
				problems = append(problems, fmt.Errorf("musts.tsv counts on the kit's %s, which failed", r.id))
			}
		}
		if !passed {
			problems = append(problems, fmt.Errorf("musts.tsv counts on the kit's %s, which did not pass", t))
		}
	}
	return errors.Join(problems...)
}
