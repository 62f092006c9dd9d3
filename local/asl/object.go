package asl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// object is a JSON object of a definition that is being read: every field is taken once, and what is left at the end is not known.
// The first fault is kept in err, so that a reader checks it once, with done.
type object struct {
	where string // "state \"Run\"", for errors
	raw   map[string]json.RawMessage
	err   error
}

// parseObject reads data as an object; a field that is there twice is a fault, since it is never meant.
func parseObject(where string, data []byte) *object {
	o := &object{where: where, raw: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		o.err = fmt.Errorf("asl: %s: want an object", where)
		return o
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			o.err = fmt.Errorf("asl: %s: %w", where, err)
			return o
		}
		name := fmt.Sprint(key)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			o.err = fmt.Errorf("asl: %s: field %q: %w", where, name, err)
			return o
		}
		if _, twice := o.raw[name]; twice {
			o.fail(name, "is there twice")
		}
		o.raw[name] = value
	}
	return o
}

// fail notes the first fault.
func (o *object) fail(field, format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("asl: %s: field %q: %s", o.where, field, fmt.Sprintf(format, args...))
	}
}

// has reports whether the field is there and not taken yet.
func (o *object) has(field string) bool {
	_, ok := o.raw[field]
	return ok
}

// take gives the field's JSON; a missing field is a fault.
func (o *object) take(field string) json.RawMessage {
	value, ok := o.raw[field]
	if !ok {
		o.fail(field, "is missing")
	}
	delete(o.raw, field)
	return value
}

// into takes the field and decodes it.
func (o *object) into(field string, target any) {
	value := o.take(field)
	if o.err != nil {
		return
	}
	if bytes.Equal(value, []byte("null")) {
		o.fail(field, "is null")
		return
	}
	if err := json.Unmarshal(value, target); err != nil {
		o.fail(field, "%v", err)
	}
}

// text takes a string that must be there and not be empty.
func (o *object) text(field string) string {
	var s string
	o.into(field, &s)
	if s == "" {
		o.fail(field, "is empty")
	}
	return s
}

// whole takes a whole number between low and high.
func (o *object) whole(field string, low, high int) int {
	var n int
	o.into(field, &n)
	if n < low || n > high {
		o.fail(field, "want a whole number from %d to %d", low, high)
	}
	return n
}

// comment takes a comment, if there is one.
func (o *object) comment() {
	if o.has("Comment") {
		o.text("Comment")
	}
}

// list takes an array that must not be empty, as objects.
func (o *object) list(field string) []*object {
	var items []json.RawMessage
	o.into(field, &items)
	if len(items) == 0 {
		o.fail(field, "is empty")
	}
	objects := make([]*object, 0, len(items))
	for i, item := range items {
		objects = append(objects, parseObject(fmt.Sprintf("%s: %s[%d]", o.where, field, i), item))
	}
	return objects
}

// adopt makes the fault of a part the fault of the whole.
func (o *object) adopt(err error) {
	if o.err == nil {
		o.err = err
	}
}

// done gives the first fault; fields that nobody took are one.
func (o *object) done() error {
	if o.err != nil || len(o.raw) == 0 {
		return o.err
	}
	left := make([]string, 0, len(o.raw))
	for name := range o.raw {
		left = append(left, fmt.Sprintf("%q", name))
	}
	slices.Sort(left)
	return fmt.Errorf("asl: %s: field %s: not known to this interpreter", o.where, strings.Join(left, ", "))
}
