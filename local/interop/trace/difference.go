package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Change is one place at which a document became another.
type Change struct {
	Document string          `json:"document"`
	At       string          `json:"at"`            // JSON pointer (RFC 6901)
	Was      json.RawMessage `json:"was,omitempty"` // absent: nothing was there
	Is       json.RawMessage `json:"is,omitempty"`  // absent: nothing is there
}

// Row are the changes at one sort of place, which have one reason.
type Row struct {
	// In is the SDK through which the documents went; in a migration, the file.
	In string `json:"in"`
	// At is the pointer with * for each index.
	At      string   `json:"at"`
	Reason  string   `json:"reason"`
	Changes []Change `json:"changes"`
}

// Compare says how documents became others. Documents of the same name belong
// together; one that only one side has is a change as a whole.
func Compare(was, is []Document) ([]Row, error) {
	type pair struct{ was, is any }
	pairs := map[string]*pair{}
	var names []string
	for i, side := range [][]Document{was, is} {
		for _, d := range side {
			p := pairs[d.Name]
			if p == nil {
				p = &pair{absent{}, absent{}}
				pairs[d.Name], names = p, append(names, d.Name)
			}
			to := []*any{&p.was, &p.is}[i]
			*to = nil
			if err := json.Unmarshal(d.Raw, to); err != nil {
				return nil, fmt.Errorf("%s: %w", d.Name, err)
			}
		}
	}
	rows := map[string]*Row{}
	for _, name := range names {
		file, _, _ := strings.Cut(name, ":")
		w := walk{document: name, in: file, rows: rows}
		if err := w.step(place{}, pairs[name].was, pairs[name].is); err != nil {
			return nil, err
		}
	}
	var out []Row
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[key])
	}
	return out, nil
}

// Trips are the differences that an SDK makes: each document beside what its types
// wrote after they had read it.
func Trips(sdk string, read []Document, wrote [][]byte) ([]Row, error) {
	if len(read) != len(wrote) {
		return nil, fmt.Errorf("of %d documents %d came back", len(read), len(wrote))
	}
	is := make([]Document, len(wrote))
	for i, raw := range wrote {
		is[i] = Document{read[i].Name, raw}
	}
	rows, err := Compare(read, is)
	if err != nil {
		return nil, err
	}
	// One reason serves all traces.
	var out []Row
	for _, r := range rows {
		r.In = sdk
		i := slices.IndexFunc(out, func(o Row) bool { return o.At == r.At })
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].Changes = append(out[i].Changes, r.Changes...)
	}
	slices.SortFunc(out, func(a, b Row) int { return strings.Compare(a.At, b.At) })
	return out, nil
}

// Of is the part of a table that is about an SDK.
func Of(sdk string, table []Row) []Row {
	var out []Row
	for _, r := range table {
		if r.In == sdk {
			out = append(out, r)
		}
	}
	return out
}

// Judge holds a written table against what is so. It fails for what is not written,
// for what is written and not so, and for what has no reason.
func Judge(table, actual []Row) error {
	var all []error
	fail := func(r Row, is string) { all = append(all, fmt.Errorf("%s, %s: %s", r.In, r.At, is)) }
	for _, is := range actual {
		i := slices.IndexFunc(table, is.same)
		if i < 0 {
			fail(is, "a difference that is not in the table: "+is.Changes[0].String())
			continue
		}
		if d := differs(table[i].Changes, is.Changes); d != "" {
			fail(is, d)
		}
	}
	for i, r := range table {
		switch {
		case slices.IndexFunc(table, r.same) != i:
			fail(r, "is in the table twice")
		case !slices.ContainsFunc(actual, r.same):
			fail(r, "a difference that is in the table and not there any more")
		case strings.TrimSpace(r.Reason) == "":
			fail(r, "a difference without a reason: write why it is right")
		}
	}
	return errors.Join(all...)
}

// Renew is a table with what is so, and with the reasons that it has for it.
func Renew(table, actual []Row) []Row {
	out := slices.Clone(actual)
	for i, is := range out {
		if at := slices.IndexFunc(table, is.same); at >= 0 {
			out[i].Reason = table[at].Reason
		}
	}
	return out
}

func (r Row) same(o Row) bool { return r.In == o.In && r.At == o.At }

// String is a change in words.
func (c Change) String() string {
	say := func(raw json.RawMessage) string {
		if raw == nil {
			return "absent"
		}
		return fmt.Sprintf("%.120s", raw)
	}
	return fmt.Sprintf("%s at %s was %s and is %s", c.Document, c.At, say(c.Was), say(c.Is))
}

func differs(listed, is []Change) string {
	same := func(a, b Change) bool {
		return a.Document == b.Document && a.At == b.At && alike(a.Was, b.Was) && alike(a.Is, b.Is)
	}
	for _, c := range is {
		if !slices.ContainsFunc(listed, func(l Change) bool { return same(l, c) }) {
			return "a change that is not in the table: " + c.String()
		}
	}
	for _, c := range listed {
		if !slices.ContainsFunc(is, func(l Change) bool { return same(l, c) }) {
			return "a change that is in the table and not there any more: " + c.String()
		}
	}
	if len(listed) != len(is) {
		return "a change that is in the table twice"
	}
	return ""
}

// alike says whether two values are the same but for white space; nil is none.
func alike(a, b json.RawMessage) bool {
	var left, right bytes.Buffer
	if (a == nil) != (b == nil) || a != nil && (json.Compact(&left, a) != nil || json.Compact(&right, b) != nil) {
		return false
	}
	return bytes.Equal(left.Bytes(), right.Bytes())
}

// absent stands where nothing is.
type absent struct{}

// place is where in a document: its pointer, and the sort of places that it is one of.
type place struct{ pointer, sort string }

func (p place) member(name string) place {
	name = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return place{p.pointer + name, p.sort + name}
}

func (p place) item(i int) place { return place{p.pointer + "/" + strconv.Itoa(i), p.sort + "/*"} }

// walk goes through two documents side by side.
type walk struct {
	document, in string
	rows         map[string]*Row
}

func (w walk) step(at place, was, is any) error {
	wasMap, a := was.(map[string]any)
	isMap, b := is.(map[string]any)
	if a && b {
		names := maps.Clone(wasMap)
		maps.Copy(names, isMap)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := w.step(at.member(name), member(wasMap, name), member(isMap, name)); err != nil {
				return err
			}
		}
		return nil
	}
	wasList, a := was.([]any)
	isList, b := is.([]any)
	if a && b {
		for i := range max(len(wasList), len(isList)) {
			if err := w.step(at.item(i), item(wasList, i), item(isList, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if reflect.DeepEqual(was, is) {
		return nil
	}
	return w.add(at, was, is)
}

func (w walk) add(at place, was, is any) error {
	c := Change{Document: w.document, At: at.pointer}
	var err, err2 error
	c.Was, err = leaf(was)
	c.Is, err2 = leaf(is)
	if w.rows[w.in+at.sort] == nil {
		w.rows[w.in+at.sort] = &Row{In: w.in, At: at.sort}
	}
	row := w.rows[w.in+at.sort]
	row.Changes = append(row.Changes, c)
	return errors.Join(err, err2)
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// leaf writes a value, nil where nothing is.
func leaf(v any) (json.RawMessage, error) {
	if v == (absent{}) {
		return nil, nil
	}
	raw, err := Encode(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, raw)
	return b.Bytes(), err
}

// Encode writes a file of a golden trace.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
