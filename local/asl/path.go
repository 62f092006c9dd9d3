package asl

import (
	"fmt"
	"maps"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// path is a reference path of the States Language ("Reference Paths"): it names at most one value, so it consists of
// names and indexes only.
type path struct {
	text  string
	steps []any // string: a member of an object; int: an element of an array
}

// parsePath reads "$.a.b[0]". Wildcards, slices, filters and intrinsic functions are refused.
func parsePath(text string) (path, error) {
	if !strings.HasPrefix(text, "$") {
		return path{}, fmt.Errorf("%q is no path; intrinsic functions are not known to this interpreter", text)
	}
	parsed, err := jsonpath.Parse(text)
	if err != nil {
		return path{}, fmt.Errorf("%q: %w", text, err)
	}
	if parsed.Query().Singular() == nil {
		return path{}, fmt.Errorf("%q can find more than one value", text)
	}
	p := path{text: text}
	for _, segment := range parsed.Query().Segments() {
		switch selector := segment.Selectors()[0].(type) {
		case spec.Name:
			p.steps = append(p.steps, string(selector))
		case spec.Index:
			if selector < 0 {
				return path{}, fmt.Errorf("%q counts from the end", text)
			}
			p.steps = append(p.steps, int(selector))
		}
	}
	return p, nil
}

// read finds the path's value in a document; false when there is none.
func (p path) read(document any) (any, bool) {
	at := document
	for _, step := range p.steps {
		switch step := step.(type) {
		case string:
			object, ok := at.(map[string]any)
			if !ok {
				return nil, false
			}
			if at, ok = object[step]; !ok {
				return nil, false
			}
		case int:
			array, ok := at.([]any)
			if !ok || step >= len(array) {
				return nil, false
			}
			at = array[step]
		}
	}
	return at, true
}

// place says where a state's result goes ("ResultPath").
type place struct {
	discard bool     // null: the input goes on unchanged
	names   []string // none: the result replaces the input
}

// parsePlace reads a ResultPath: null, "$" or names below it.
func parsePlace(o *object) place {
	if !o.has("ResultPath") {
		return place{}
	}
	if string(o.raw["ResultPath"]) == "null" {
		o.take("ResultPath")
		return place{discard: true}
	}
	p, err := parsePath(o.text("ResultPath"))
	if err != nil {
		o.fail("ResultPath", "%v", err)
	}
	var target place
	for _, step := range p.steps {
		name, ok := step.(string)
		if !ok {
			o.fail("ResultPath", "%q leads into an array", p.text)
			break
		}
		target.names = append(target.names, name)
	}
	return target
}

// put gives the document with the value at the place. The given document stays as it is: what changes is copied.
// Missing objects on the way are made; anything else on the way is States.ResultPathMatchFailure.
func (pl place) put(document, value any) (any, *Error) {
	if pl.discard {
		return document, nil
	}
	if len(pl.names) == 0 {
		return value, nil
	}
	object, ok := document.(map[string]any)
	if !ok {
		return nil, newError(nameResultPathMatchFailure, "ResultPath leads through a value that is not an object, at "+pl.names[0])
	}
	below, ok := object[pl.names[0]]
	if !ok {
		below = map[string]any{}
	}
	changed, err := place{names: pl.names[1:]}.put(below, value)
	if err != nil {
		return nil, err
	}
	object = maps.Clone(object)
	object[pl.names[0]] = changed
	return object, nil
}
