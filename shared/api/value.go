package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// value is a piece of a document that was found to be valid JSON in UTF-8, without
// space around it. The SDK's types cannot tell absent from zero, nor say which
// field is wrong; walking the document can, and reads it only once.
type value []byte

// document checks a whole body. Its error says at which byte the body is wrong, counted
// from 1, and shows nothing of it.
func document(b []byte) (value, error) {
	switch {
	case !utf8.Valid(b):
		return nil, fmt.Errorf("byte %d is not UTF-8", firstForeign(b))
	case !json.Valid(b):
		return nil, misplaced(b)
	}
	return bytes.TrimSpace(b), nil
}

// misplaced says where a body stops being JSON.
func misplaced(b []byte) error {
	if len(b) == 0 {
		return errors.New("it is empty")
	}
	var raw json.RawMessage
	wrong, is := errors.AsType[*json.SyntaxError](json.Unmarshal(b, &raw))
	switch {
	case !is: // nested too deep, say
		return errors.New("it cannot be read")
	case strings.HasPrefix(wrong.Error(), "unexpected end"):
		return fmt.Errorf("it ends too early, after byte %d", len(b))
	}
	return fmt.Errorf("it is wrong at byte %d", wrong.Offset)
}

// firstForeign is the place of the first byte that is not UTF-8, counted from 1.
func firstForeign(b []byte) int {
	at := 0
	for at < len(b) {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at + 1
}

func (v value) null() bool   { return len(v) == 0 || v[0] == 'n' }
func (v value) object() bool { return len(v) > 0 && v[0] == '{' }
func (v value) array() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) string() bool { return len(v) > 0 && v[0] == '"' }
func (v value) bool() bool   { return len(v) > 0 && (v[0] == 't' || v[0] == 'f') }
func (v value) number() bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// text decodes a string.
func (v value) text() string {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return ""
	}
	return s
}

// members visits the members of an object in order. A name may come twice; then
// the later one counts.
func (v value) members(visit func(name string, v value)) {
	for i := skipSpace(v, 1); v[i] != '}'; {
		end := pastString(v, i)
		name := v[i:end].text()
		i = skipSpace(v, skipSpace(v, end)+1) // past ':'
		end = pastValue(v, i)
		visit(name, v[i:end])
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
}

// items visits the items of an array in order.
func (v value) items(visit func(i int, v value)) {
	n := 0
	for i := skipSpace(v, 1); v[i] != ']'; n++ {
		end := pastValue(v, i)
		visit(n, v[i:end])
		if i = skipSpace(v, end); v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
}

func skipSpace(v value, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t' {
		i++
	}
	return i
}

// pastString is the place after the string that begins at i. Texts are long:
// quotes are looked for, not characters looked at.
func pastString(v value, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(v[i:], '"')
		escapes := 0
		for v[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// pastValue is the place after the value that begins at i.
func pastValue(v value, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			i = pastString(v, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			for i < len(v) && strings.IndexByte(",]} \n\r\t", v[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
