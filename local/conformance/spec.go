package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// chapters are those whose sentences bind a server over JSON-RPC or HTTP+JSON.
var chapters = []string{"3", "5", "7.6", "9", "11", "13"}

func inScope(section string) bool {
	return slices.ContainsFunc(chapters, func(c string) bool { return section == c || strings.HasPrefix(section, c+".") })
}

var (
	heading  = regexp.MustCompile(`^#+ (\d+(?:\.\d+)*)`)
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	code     = regexp.MustCompile("`[^`]*`")
	normWord = regexp.MustCompile(`\b(MUST|SHALL|REQUIRED)\b`)
	table    = regexp.MustCompile(`proto_to_table\("(\w+)"\)`)
)

// specification is the text and the proto whose comments its tables show.
type specification struct{ text, proto string }

// readSpecification reads docs/specification.md and specification/a2a.proto, which
// stands beside that folder. Without the proto the tables stay empty.
func readSpecification(path string) (specification, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return specification{}, fmt.Errorf("A2A_SPEC: %w", err)
	}
	proto, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "specification", "a2a.proto"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return specification{}, fmt.Errorf("A2A_SPEC: %w", err)
	}
	return specification{string(text), string(proto)}, nil
}

// fields are the comments on a message's fields, a field a line.
func (s specification) fields(message string) string {
	_, body, _ := strings.Cut(s.proto, "\nmessage "+message+" {\n")
	body, _, _ = strings.Cut(body, "\n}")
	var out strings.Builder
	for line := range strings.Lines(body) {
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "// "); ok {
			out.WriteString(comment + " ")
		} else {
			out.WriteString("\n")
		}
	}
	return out.String()
}

// plain is a line as it is quoted: without links and bold type.
func plain(line string) string {
	return strings.ReplaceAll(link.ReplaceAllString(line, "$1"), "**", "")
}

// keywords are the places of the normative words of a text. In code they are
// names.
func keywords(text string) [][]int {
	bare := code.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("`", len(s)) })
	return normWord.FindAllStringIndex(bare, -1)
}

// sections is the text of the chapters in question by section number, without
// code blocks and with what the tables say.
func (s specification) sections() map[string]string {
	out := map[string]string{}
	section, fenced := "", false
	for line := range strings.Lines(s.text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			section = m[1]
		}
		if m := table.FindStringSubmatch(line); m != nil {
			line = s.fields(m[1])
		}
		if inScope(section) {
			out[section] += plain(line)
		}
	}
	return out
}

// ofTheTable is the note of a row whose sentence is in a table made of the proto.
const ofTheTable = "in the table, from the proto"

// cover holds the table against the specification: every quote is found once in
// its section, and every normative word is within a quote. It returns how many
// there are.
func (s specification) cover(rows []must) (words int, err error) {
	var problems []error
	text := s.sections()
	quoted := map[string][][2]int{}
	for _, m := range rows {
		if s.proto == "" && m.note == ofTheTable {
			continue
		}
		at := strings.Index(text[m.section], m.quote)
		switch {
		case at < 0:
			problems = append(problems, fmt.Errorf("musts.tsv:%d: section %s does not say %q", m.line, m.section, m.quote))
			continue
		case strings.Contains(text[m.section][at+1:], m.quote):
			problems = append(problems, fmt.Errorf("musts.tsv:%d: section %s says %q more than once: quote more of it", m.line, m.section, m.quote))
		}
		quoted[m.section] = append(quoted[m.section], [2]int{at, at + len(m.quote)})
	}
	for section, body := range text {
		for _, at := range keywords(body) {
			words++
			if !slices.ContainsFunc(quoted[section], func(q [2]int) bool { return q[0] <= at[0] && at[1] <= q[1] }) {
				problems = append(problems, fmt.Errorf("section %s: no row quotes %q", section, sentence(body, at[0])))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return words, errors.Join(problems...)
}

// sentence is the line around a place, cut at its full stops.
func sentence(text string, at int) string {
	from := strings.LastIndexByte(text[:at], '\n') + 1
	if i := strings.LastIndex(text[from:at], ". "); i >= 0 {
		from += i + 2
	}
	rest := text[at:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.Index(rest, ". "); i >= 0 {
		rest = rest[:i+1]
	}
	return text[from:at] + rest
}
