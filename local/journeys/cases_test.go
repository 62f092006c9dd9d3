package journeys_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reported are the numbers of what users of comparable systems reported and this
// build owes a test for. A comment on the test names the number.
var reported = []int{
	1, 2, 3, 5, 6, 7, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24,
	25, 28, 29, 30, 32, 33, 35, 37, 38, 40, 41, 43, 44, 46, 48, 51, 52, 54, 55, 56,
	57, 59, 61, 62, 63, 65, 67, 68, 69, 71,
}

var (
	citation = regexp.MustCompile(`(?i)\bcases? (\d+(?:(?:, and |, | and | to |–|-)\d+)*)`)
	span     = regexp.MustCompile(`(\d+)(?: to |–|-)(\d+)`)
	number   = regexp.MustCompile(`\d+`)
)

// cited are the numbers that a comment names, in any of the forms "case N",
// "cases N, M and K" and "cases N–M".
func cited(comment string) []int {
	var out []int
	for _, found := range citation.FindAllStringSubmatch(strings.Join(strings.Fields(comment), " "), -1) {
		list := span.ReplaceAllStringFunc(found[1], func(s string) string {
			ends := span.FindStringSubmatch(s)
			from, errFrom := strconv.Atoi(ends[1])
			to, errTo := strconv.Atoi(ends[2])
			var all []string
			for n := from; errFrom == nil && errTo == nil && n <= to && len(all) < 100; n++ {
				all = append(all, strconv.Itoa(n))
			}
			return strings.Join(all, ", ")
		})
		for _, text := range number.FindAllString(list, -1) {
			if n, err := strconv.Atoi(text); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// The mapping from reports to tests cannot rot: each number has a test somewhere in
// the tree whose comment cites it. The code of a switch is no citation.
func TestCasesAreCited(t *testing.T) {
	tree := os.DirFS("../..")
	where := map[int]map[string]bool{}
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{".git", "dist", "testdata"}, d.Name()) {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") || path == "local/journeys/cases_test.go" {
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, comment := range file.Comments {
			for _, n := range cited(comment.Text()) {
				if where[n] == nil {
					where[n] = map[string]bool{}
				}
				where[n][path] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, n := range reported {
		if len(where[n]) == 0 {
			t.Errorf("no test cites number %d of the reports: write one, with a comment in the form \"case N\"", n)
		}
		fmt.Fprintf(&table, "\n%4d  %s", n, strings.Join(slices.Sorted(maps.Keys(where[n])), " "))
	}
	t.Log(table.String())
}

func TestCitations(t *testing.T) {
	for comment, want := range map[string][]int{
		"Case 7: a message":                       {7},
		"(I1; cases 1, 14,\n15 and 22).":          {1, 14, 15, 22},
		"Cases 33 and 43, case 5":                 {33, 43, 5},
		"cases 1–3, 5 to 7, and 9-10":             {1, 2, 3, 5, 6, 7, 9, 10},
		"in that case 3 of them, a showcase 4, 8": {3},
		"case by case":                            nil,
		"Case 2.5 seconds":                        {2},
	} {
		if got := cited(comment); !slices.Equal(got, want) {
			t.Errorf("%q cites %v, want %v", comment, got, want)
		}
	}
}
