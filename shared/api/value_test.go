package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// tree rebuilds a document by walking it.
func tree(v value) any {
	switch {
	case v.object():
		out := map[string]any{}
		v.members(func(name string, v value) { out[name] = tree(v) })
		return out
	case v.array():
		out := []any{}
		v.items(func(_ int, v value) { out = append(out, tree(v)) })
		return out
	case v.string():
		return v.text()
	case v.bool():
		return v[0] == 't'
	case v.number():
		return json.Number(v)
	case v.null():
		return nil
	default:
		return "neither"
	}
}

// FuzzValue holds the walk against encoding/json, which is right by definition.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` {"a" : [ 1 , -2.5e+3, true,false , null, "x\\\"y\\", {}, [] ], "" :{"b":"}]"}}`, `"\ud83d\ude00\u0000\/"`, `[[[["\\"]]]]`, "\t7 ", `{"a":1,"a":2}`, "nul", "\"\xff\"", `{"\u0061":"]"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := document(b)
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if got := tree(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: walked %#v, decoded %#v", b, got, want)
		}
	})
}
