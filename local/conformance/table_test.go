package main

import (
	"os"
	"strings"
	"testing"
)

// The table by itself, against the tree, and, with A2A_SPEC set to it, against the
// specification.
func TestTable(t *testing.T) {
	rows, err := parseMusts(mustsTable)
	if err != nil {
		t.Fatal(err)
	}
	tests, kitTests := proofs(rows)
	lost, err := missing(os.DirFS("../.."), tests)
	if err != nil || len(lost) > 0 {
		t.Errorf("the table names tests that are not there: %v (%v)", lost, err)
	}
	t.Log(summary(rows, len(tests)))
	t.Logf("tests of the kit that it counts on: %v", kitTests)
	s, err := parse(nil, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	if s.spec == "" {
		t.Log("A2A_SPEC is not set: the quotes were not looked up")
		return
	}
	spec, err := readSpecification(s.spec)
	if err != nil {
		t.Fatal(err)
	}
	words, err := spec.cover(rows)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d normative words, each within a quote", words)
}

// Whoever says why a sentence needs no test is used, or goes.
func TestReasonsAreUsed(t *testing.T) {
	rows, err := parseMusts(mustsTable)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range rows {
		used[m.proof[0]] = true
	}
	for reason := range reasons {
		if !used[reason] {
			t.Errorf("no row gives the reason %s", reason)
		}
	}
}

func TestParseMustsRefuses(t *testing.T) {
	const row = "3.1.1\tit MUST be so\tserver\tshared/api.TestX\n"
	if rows, err := parseMusts("# a comment\n\n" + row); err != nil || len(rows) != 1 || rows[0].line != 3 || !rows[0].proven() {
		t.Fatalf("%+v, %v", rows, err)
	}
	for text, want := range map[string]string{
		"3.1.1\tit MUST be so\tserver\n":                                   "3 columns",
		"3.1.1\tit MUST be so\tserver\tshared/api.TestX\ta\tb\n":           "6 columns",
		"4.1\tit MUST be so\tserver\tshared/api.TestX\n":                   `section "4.1"`,
		"7.5\tit MUST be so\tserver\tshared/api.TestX\n":                   `section "7.5"`,
		"three\tit MUST be so\tserver\tshared/api.TestX\n":                 `section "three"`,
		"3.1.1\tit should be so\tserver\tshared/api.TestX\n":               "no MUST",
		"3.1.1\tit is `REQUIRED`, so TASK_STATE_REQUIRED\tserver\ta.TestX": "no MUST",
		"3.1.1\tit MUST be so\tthe server\tshared/api.TestX\n":             `binds "the server"`,
		"3.1.1\tit MUST be so\tserver\t\n":                                 "no proof",
		"3.1.1\tit MUST be so\tserver\t-\n":                                "neither a test nor a reason",
		"3.1.1\tit MUST be so\tserver\tno-time\n":                          "neither a test nor a reason",
		"3.1.1\tit MUST be so\tserver\tshared/api.TestX no-message\n":      "neither a test nor a reason",
		"3.1.1\tit MUST be so\tclient\tshared/api.TestX\n":                 "not ours to prove",
		row + row: "the quote is that of line 1",
	} {
		if _, err := parseMusts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

const smallSpec = "# 3. Operations\n" +
	"A **server MUST** [answer](#x). It MUST\n" +
	"```\nMUST in code\n```\n" +
	"not ask; `MUST` is a word.\n" +
	"### 4.1. Data\nIt MUST be data.\n" +
	"#### 7.6.1 Authorization\n1. MUST ask. It SHALL wait.\n" +
	"## 11. HTTP\n{{ proto_to_table(\"Ask\") }}\n"

const smallProto = `
message Other {
  // It MUST be in no table.
  int32 a = 1;
}
message Ask {
  // How many there
  // MUST be.
  int32 n = 1 [(google.api.field_behavior) = REQUIRED];
}
`

func TestCover(t *testing.T) {
	all := []must{
		{line: 1, section: "3", quote: "A server MUST answer."},
		{line: 2, section: "3", quote: "It MUST"},
		{line: 3, section: "7.6.1", quote: "1. MUST ask. It SHALL wait."},
		{line: 4, section: "11", quote: "How many there MUST be.", note: ofTheTable},
	}
	if words, err := (specification{smallSpec, smallProto}).cover(all); err != nil || words != 5 {
		t.Errorf("%d words, %v", words, err)
	}
	if _, err := (specification{smallSpec, smallProto}).cover(all[:3]); err == nil || !strings.Contains(err.Error(), `section 11: no row quotes "How many there MUST be.`) {
		t.Errorf("the proto's sentence is missing: %v", err)
	}
	if words, err := (specification{text: smallSpec}).cover(all); err != nil || words != 4 {
		t.Errorf("without the proto: %d words, %v", words, err)
	}
	all = all[:3:3]
	for what, tt := range map[string]struct {
		rows []must
		want []string
	}{
		"a row is missing":     {all[1:], []string{`section 3: no row quotes "A server MUST answer."`}},
		"half a row":           {[]must{all[0], all[1], {section: "7.6.1", quote: "MUST ask."}}, []string{`section 7.6.1: no row quotes "It SHALL wait."`}},
		"another section":      {[]must{{line: 9, section: "5", quote: all[0].quote}, all[1], all[2]}, []string{"musts.tsv:9: section 5 does not say", "no row quotes"}},
		"a word too short":     {append(all, must{line: 4, section: "3", quote: "MUST"}), []string{`says "MUST" more than once`}},
		"what is not there":    {append(all, must{line: 4, section: "3", quote: "It MUST be data."}), []string{"musts.tsv:4: section 3 does not say"}},
		"code is not the text": {append(all, must{line: 4, section: "3", quote: "MUST in code"}), []string{"does not say"}},
	} {
		_, err := specification{text: smallSpec}.cover(tt.rows)
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
		}
	}
}
