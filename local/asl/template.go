package asl

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// template is a payload template ("Payload Template"), compiled to the JSON text between its values, so that rendering appends
// and does not build the object first.
type template struct {
	holes []hole
	tail  []byte
}

// hole is JSON text and the value that follows it.
type hole struct {
	before []byte
	value  source
}

// parseTemplate compiles the object in o: a field whose name ends in ".$" is a path, anything else is itself.
func parseTemplate(o *object) template {
	var t template
	t.object(o)
	return t
}

// carriesToken reports whether the callback token is in the payload.
func (t template) carriesToken() bool {
	return slices.ContainsFunc(t.holes, func(h hole) bool { return h.value.token })
}

func (t *template) object(o *object) {
	t.tail = append(t.tail, '{')
	for i, name := range slices.Sorted(maps.Keys(o.raw)) {
		if i > 0 {
			t.tail = append(t.tail, ',')
		}
		plain, dynamic := strings.CutSuffix(name, ".$")
		t.tail = append(appendValue(t.tail, plain), ':')
		if dynamic {
			t.path(o, name)
			continue
		}
		t.value(o, name)
	}
	t.tail = append(t.tail, '}')
}

func (t *template) path(o *object, name string) {
	text := o.text(name)
	if o.err != nil {
		return
	}
	value, err := parseSource(text)
	if err != nil {
		o.fail(name, "%v", err)
	}
	t.holes = append(t.holes, hole{before: t.tail, value: value})
	t.tail = nil
}

// value copies a constant; an object may have paths inside, an array may not.
func (t *template) value(o *object, name string) {
	raw := o.take(name)
	switch raw[0] {
	case '{':
		inner := parseObject(o.where+": "+name, raw)
		t.object(inner)
		o.adopt(inner.done())
	case '[':
		o.fail(name, "arrays in a template are not known to this interpreter")
	default:
		t.tail = append(t.tail, raw...)
	}
}

// render gives the payload. A path that finds nothing is States.Runtime, one that is too large States.DataLimitExceeded.
func (t template) render(e *execution) (json.RawMessage, *Error) {
	payload := make([]byte, 0, 512)
	for _, h := range t.holes {
		value, err := h.value.read(e)
		if err != nil {
			return nil, err
		}
		payload = appendValue(append(payload, h.before...), value)
	}
	payload = append(payload, t.tail...)
	if len(payload) > maxPayload {
		return nil, newError(nameDataLimitExceeded, "the payload of state "+e.at.name+" is larger than 256 KiB")
	}
	return payload, nil
}

// appendValue appends a decoded JSON value as JSON. Plain strings and numbers, nearly all there is, take no detour.
func appendValue(to []byte, value any) []byte {
	switch value := value.(type) {
	case string:
		if plain(value) {
			return append(append(append(to, '"'), value...), '"')
		}
	case json.Number:
		return append(to, value...)
	}
	encoded, err := json.Marshal(value)
	if err != nil { // it was JSON when it came in
		return append(to, "null"...)
	}
	return append(to, encoded...)
}

// plain reports whether a string is its own JSON form but for the quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
