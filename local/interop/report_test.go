package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// said is the output of a program that passes everything, with lines changed.
func said(t *testing.T, change func(lines []string) []string) report {
	t.Helper()
	lines := []string{`{"client":"an SDK","version":"1.2.3"}`}
	for _, name := range scenarios() {
		line, err := json.Marshal(map[string]string{"scenario": name})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return readReport(strings.NewReader(strings.Join(change(lines), "\n")), "python", "JSONRPC")
}

// Nothing passes but what was told once, by its name, without a reason.
func TestReadReport(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]string) []string
		want   string // of the failures
	}{
		"all":            {func(l []string) []string { return l }, ""},
		"one is missing": {func(l []string) []string { return l[:len(l)-1] }, "null values: the program did not get there"},
		"one has failed": {func(l []string) []string { l[1] = `{"scenario":"card","failed":"no"}`; return l }, "card: no"},
		"one twice":      {func(l []string) []string { return append(l, l[1]) }, "card: the program told of it twice"},
		"one unknown":    {func(l []string) []string { return append(l, `{"scenario":"tea"}`) }, "tea: the driver knows no such scenario"},
		"no JSON":        {func(l []string) []string { return append(l, `Traceback`) }, `?: no line for the driver: "Traceback"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := said(t, c.change)
			var failed []string
			for _, line := range r.lines() {
				if rest, ok := strings.CutPrefix(line, "FAIL  an SDK            1.2.3   JSONRPC    "); ok {
					failed = append(failed, rest)
				} else if !strings.HasPrefix(line, "PASS  an SDK ") {
					t.Errorf("odd line %q", line)
				}
			}
			if got := strings.Join(failed, "|"); got != c.want {
				t.Errorf("failed %q, want %q", got, c.want)
			}
			if err := summary([]report{r}, time.Second, io.Discard); (err != nil) != (c.want != "") {
				t.Errorf("summary: %v", err)
			}
		})
	}
}

func TestReadReportOfNothing(t *testing.T) {
	r := readReport(strings.NewReader(""), "python", "JSONRPC")
	for _, o := range r.outcomes {
		if o.Failed == "" {
			t.Errorf("%s has passed", o.Scenario)
		}
	}
	if len(r.outcomes) != len(scenarios()) {
		t.Errorf("%d outcomes", len(r.outcomes))
	}
}
