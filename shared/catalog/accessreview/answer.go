package accessreview

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// readAnswer reads which of n proposals a reply approves: ascending, each once. A
// data part counts before text.
func readAnswer(m *a2a.Message, n int) ([]int, error) {
	var data []any
	for _, p := range m.Parts {
		if d, ok := p.Content.(a2a.Data); ok {
			data = append(data, d.Value)
		}
	}
	switch len(data) {
	case 0:
		return readText(agent.Text(m), n)
	case 1:
		return readData(data[0], n)
	}
	return nil, errors.New("it has more than one data part")
}

func readText(text string, n int) ([]int, error) {
	verb, what := strings.TrimSuffix(strings.TrimSpace(text), "."), ""
	if i := strings.IndexFunc(verb, unicode.IsSpace); i > 0 {
		verb, what = verb[:i], strings.TrimSpace(verb[i:])
	}
	if !strings.EqualFold(verb, "approve") || what == "" {
		return nil, errors.New(`it does not begin with "approve" and say what`)
	}
	if ids, ok := readWord(what, n); ok {
		return ids, nil
	}
	var ids []int
	for field := range strings.SplitSeq(what, ",") {
		for word := range strings.FieldsSeq(field) {
			id, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%q is no number of a proposal", clip(word))
			}
			ids = append(ids, id)
		}
	}
	return checkIDs(ids, n)
}

func readData(v any, n int) ([]int, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("its data is not an object")
	}
	switch what := object["approve"].(type) {
	case string:
		if ids, ok := readWord(what, n); ok {
			return ids, nil
		}
		return nil, fmt.Errorf(`"approve" is %q: say "all", "none" or a list of numbers`, clip(what))
	case []any:
		ids := make([]int, 0, len(what))
		for _, v := range what {
			number, ok := v.(float64)
			if !ok || number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
				return nil, errors.New(`"approve" lists something that is no number of a proposal`)
			}
			ids = append(ids, int(number))
		}
		return checkIDs(ids, n)
	}
	return nil, errors.New(`its data has no "approve" with "all", "none" or a list of numbers`)
}

// readWord reads all and none.
func readWord(word string, n int) ([]int, bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "all":
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i + 1
		}
		return ids, true
	case "none":
		return nil, true
	}
	return nil, false
}

// checkIDs refuses an answer with a wrong number as a whole: whoever wrote it meant
// something else. An empty list approves nothing.
func checkIDs(ids []int, n int) ([]int, error) {
	for _, id := range ids {
		if id < 1 || id > n {
			return nil, fmt.Errorf("there is no proposal %d, they go from 1 to %d", id, n)
		}
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
