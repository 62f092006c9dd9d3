package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const report = `<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.compatibility.core.test_a.TestX" name="test_one[jsonrpc]"/>
<testcase classname="tests.compatibility.core.test_a.TestX" name="test_one[http_json]"><failure message="no"/></testcase>
<testcase classname="tests.compatibility.core.test_a" name="test_two[CORE-A-001-jsonrpc]"><skipped type="pytest.xfail" message="should"/></testcase>
<testcase classname="tests.compatibility.core.test_a" name="test_three"><skipped type="pytest.skip" message="none"/></testcase>
<testcase classname="tests.compatibility.core.test_a" name="test_four"><error message="broken"/></testcase>
</testsuite></testsuites>`

func TestParseResults(t *testing.T) {
	levels := map[string]string{}
	for node, level := range map[string]string{
		"tests/compatibility/core/test_a.py::TestX::test_one[jsonrpc]":        "MUST",
		"tests/compatibility/core/test_a.py::TestX::test_one[http_json]":      "MUST",
		"tests/compatibility/core/test_a.py::test_two[CORE-A-001-jsonrpc]":    "SHOULD",
		"tests/compatibility/core/test_a.py::test_three":                      "MAY",
		"tests/compatibility/core/test_a.py::test_four":                       "MUST",
		"235/265 tests collected (30 deselected)":                             "",
		"tests/compatibility/core/test_a.py::TestX::test_five[a::b/test_c.d]": "MAY",
	} {
		if id := testID(node); id != "" {
			levels[id] = level
		}
	}
	if levels["test_a.TestX.test_five[a::b/test_c.d]"] != "MAY" || len(levels) != 6 {
		t.Fatalf("%v", levels)
	}
	results, err := parseResults([]byte(report), levels)
	want := []result{
		{"test_a.TestX.test_one[jsonrpc]", "MUST", "pass", ""},
		{"test_a.TestX.test_one[http_json]", "MUST", "fail", "no"},
		{"test_a.test_two[CORE-A-001-jsonrpc]", "SHOULD", "xfail", "should"},
		{"test_a.test_three", "MAY", "skip", "none"},
		{"test_a.test_four", "MUST", "fail", "broken"},
	}
	if err != nil || !slices.Equal(results, want) {
		t.Errorf("%+v, %v", results, err)
	}
	delete(levels, "test_a.test_four")
	if _, err := parseResults([]byte(report), levels); err == nil || !strings.Contains(err.Error(), "test_a.test_four is in none") {
		t.Errorf("a test without a level: %v", err)
	}
	if _, err := parseResults([]byte("<"), levels); err == nil {
		t.Error("half a report was read")
	}
}

func deviations(t *testing.T, rows ...string) []deviation {
	t.Helper()
	list, err := parseDeviations(strings.Join(rows, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Case 71: where the kit is wrong is a list with reasons, and the list must fit: what
// is not on it fails, and what is on it and does not happen any more fails too.
func TestJudge(t *testing.T) {
	results := []result{
		{"a.test_one[jsonrpc]", "MUST", "pass", ""},
		{"a.test_one[grpc]", "MUST", "skip", "no gRPC"},
		{"a.test_two", "MUST", "fail", "no"},
		{"a.test_three", "SHOULD", "xfail", "no"},
		{"a.test_four", "MAY", "skip", "no"},
	}
	listed := deviations(t, "skip\t*[grpc]\tcapability\t§5", "fail\ta.test_two\tkit\t§3", "xfail\ta.test_three\tours\t§3")
	v, err := judge(results, listed)
	if err != nil {
		t.Error(err)
	}
	const want = "MUST 1 passed, 1 failed (1 listed), 1 skipped (1 listed); SHOULD 0 passed, 1 failed (1 listed), 0 skipped; MAY 0 passed, 0 failed, 1 skipped; listed by cause: capability 1, kit 1, ours 1"
	if v.String() != want {
		t.Errorf("%s\nwant %s", v, want)
	}
	for what, tt := range map[string]struct {
		results []result
		listed  []deviation
		want    string
	}{
		"an unlisted failure":    {results, append(listed[:1:1], listed[2]), "MUST fail: a.test_two: no"},
		"an unlisted skip":       {results, listed[1:], "MUST skip: a.test_one[grpc]: no gRPC"},
		"an unlisted xfail":      {results, listed[:2], "SHOULD xfail: a.test_three: no"},
		"another outcome":        {[]result{{"a.test_two", "MUST", "skip", "s"}}, listed[1:2], "MUST skip: a.test_two"},
		"a failing MAY":          {[]result{{"a.test_five", "MAY", "fail", "f"}}, nil, "MAY fail: a.test_five"},
		"a row too many":         {results[:1], listed[:1], "deviations.tsv:1: nothing has the outcome skip under *[grpc] any more"},
		"a name that is similar": {[]result{{"a.test_two_more", "MUST", "fail", "f"}}, nil, "a.test_two_more"},
		"nothing ran":            {nil, nil, "no test"},
	} {
		if _, err := judge(tt.results, tt.listed); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", what, err, tt.want)
		}
	}
}

func TestReplaced(t *testing.T) {
	first := []result{{"a.one", "MUST", "skip", ""}, {"a.two", "MUST", "pass", ""}}
	got := replaced(first, []result{{"a.one", "MUST", "pass", ""}, {"a.three", "MUST", "fail", ""}})
	if want := []result{{"a.one", "MUST", "pass", ""}, first[1]}; !slices.Equal(got, want) || first[0].outcome != "skip" {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCounted(t *testing.T) {
	results := []result{{"a.T.one[jsonrpc]", "MUST", "pass", ""}, {"a.T.one[grpc]", "MUST", "skip", ""}, {"a.T.two[jsonrpc]", "MUST", "pass", ""}, {"a.T.two[http_json]", "MUST", "fail", ""}}
	if err := counted(results, []string{"a.T.one"}); err != nil {
		t.Error(err)
	}
	for _, test := range []string{"a.T.two", "a.T.three", "a.T.on"} {
		if err := counted(results, []string{test}); err == nil || !strings.Contains(err.Error(), test) {
			t.Errorf("%s: %v", test, err)
		}
	}
}

func TestDeviations(t *testing.T) {
	if _, err := parseDeviations(deviationsTable); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"fail\ta.test\tkit\n":                            "3 columns",
		"pass\ta.test\tkit\t§3\n":                        `outcome "pass"`,
		"fail\ta.test\tluck\t§3\n":                       `cause "luck"`,
		"fail\ta.test\tkit\tno section\n":                "cites no section",
		"fail\ta.test\tkit\t§3\nskip\ta.test\tkit\t§4\n": "has a row already",
	} {
		if _, err := parseDeviations(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestMissing(t *testing.T) {
	tree := fstest.MapFS{
		"a/b/x_test.go": {Data: []byte("package b\nfunc TestOne(t *testing.T) {}\nfunc (s suite) TestTwo() {}\nvar TestThree = 1\n")},
		"a/b/y.go":      {Data: []byte("package b\nfunc TestFour(t *testing.T) {}\n")},
	}
	got, err := missing(tree, []string{"a/b.TestOne", "a/b.TestTwo", "a/b.TestThree", "a/b.TestFour", "a.TestOne"})
	if want := []string{"a.TestOne", "a/b.TestFour", "a/b.TestThree", "a/b.TestTwo"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

func TestOutcomes(t *testing.T) {
	passed, printed := outcomes([]byte(`{"Action":"run","Test":"TestA"}
{"Action":"pass","Test":"TestA/one"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Test":"TestB","Output":"    --- PASS: TestB/one (0.00s)\n"}
{"Action":"output","Test":"TestB","Output":"b_test.go:1: no\n"}
{"Action":"fail","Test":"TestB"}
{"Action":"pass","Test":"TestC/one"}
{"Action":"skip","Test":"TestC"}
{"Action":"pass"}
`))
	if len(passed) != 1 || !passed["TestA"] || printed["TestB"] != "b_test.go:1: no\n" {
		t.Errorf("%v, %q", passed, printed)
	}
}
