package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Canonical is the canonical JSON of v (RFC 8785). Numbers are IEEE doubles, as
// everywhere in A2A's JSON: integers beyond 2^53 lose digits.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	out, err := canonicalize(raw)
	if err != nil {
		return nil, fmt.Errorf("canonical form of %T: %w", v, err)
	}
	return out, nil
}

// canonicalize brings JSON into canonical form. Nearly all of ours is objects
// with plain names, strings and small integers, and is done in one pass; whatever
// else turns up is left to the library. A fuzz test holds the two against each
// other.
func canonicalize(raw []byte) ([]byte, error) {
	p := canonizer{in: raw, out: make([]byte, 0, len(raw))}
	if p.value(0) && p.at == len(raw) {
		return p.out, nil
	}
	return jcs.Transform(raw)
}

// canonizer copies compact JSON, as encoding/json writes it, and sorts the
// members of its objects. Its methods return false at whatever they do not know.
type canonizer struct {
	in  []byte
	at  int
	out []byte
	// members is a stack: those of the objects that are open.
	members []member
	scratch []byte
}

// member is where a member of an object is in out.
type member struct {
	from, to int
	name     []byte // as in the input, plain ASCII
}

const (
	// maxPlainDepth is how deep the one pass goes; the library goes on from there.
	maxPlainDepth = 64
	// maxPlainDigits is how many digits an integer may have that every double keeps.
	maxPlainDigits = 15
)

func (p *canonizer) peek() byte {
	if p.at < len(p.in) {
		return p.in[p.at]
	}
	return 0
}

func (p *canonizer) skip(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	p.out = append(p.out, c)
	return true
}

func (p *canonizer) value(depth int) bool {
	if depth > maxPlainDepth {
		return false
	}
	switch p.peek() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.text()
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.integer()
	}
}

func (p *canonizer) word(w string) bool {
	if !bytes.HasPrefix(p.in[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	p.out = append(p.out, w...)
	return true
}

// integer takes 0 and integers whose digits a double keeps and prints as they
// are. A fraction or an exponent after them fits nowhere, and is refused there.
func (p *canonizer) integer() bool {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	first := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	digits := p.at - first
	if digits == 0 || digits > maxPlainDigits || p.in[first] == '0' && (digits > 1 || first > start) {
		return false
	}
	p.out = append(p.out, p.in[start:p.at]...)
	return true
}

func (p *canonizer) array(depth int) bool {
	p.skip('[')
	if p.skip(']') {
		return true
	}
	for {
		if !p.value(depth + 1) {
			return false
		}
		if p.skip(']') {
			return true
		}
		if !p.skip(',') {
			return false
		}
	}
}

func (p *canonizer) object(depth int) bool {
	p.skip('{')
	if p.skip('}') {
		return true
	}
	base, start := len(p.members), len(p.out)
	for {
		from := len(p.out)
		name, ok := p.name()
		if !ok || !p.skip(':') || !p.value(depth+1) {
			return false
		}
		p.members = append(p.members, member{from, len(p.out), name})
		if p.peek() == '}' {
			break
		}
		if !p.skip(',') {
			return false
		}
	}
	if !p.sort(p.members[base:], start) {
		return false
	}
	p.members = p.members[:base]
	return p.skip('}')
}

// sort puts the members that begin at start in order. UTF-16 order, which RFC
// 8785 demands, is byte order for ASCII.
func (p *canonizer) sort(members []member, start int) bool {
	sorted := true
	for i := 1; i < len(members); i++ {
		switch c := bytes.Compare(members[i-1].name, members[i].name); {
		case c == 0:
			return false
		case c > 0:
			sorted = false
		}
	}
	if sorted {
		return true
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	p.scratch = p.scratch[:0]
	for i, m := range members {
		if i > 0 && bytes.Equal(members[i-1].name, m.name) {
			return false
		}
		if i > 0 {
			p.scratch = append(p.scratch, ',')
		}
		p.scratch = append(p.scratch, p.out[m.from:m.to]...)
	}
	p.out = append(p.out[:start], p.scratch...)
	return true
}

// name is a member's name without escapes.
func (p *canonizer) name() ([]byte, bool) {
	if p.peek() != '"' {
		return nil, false
	}
	for i := p.at + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '"':
			name := p.in[p.at+1 : i]
			p.out = append(p.out, p.in[p.at:i+1]...)
			p.at = i + 1
			return name, true
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return nil, false
		}
	}
	return nil, false
}

// text copies a string. What encoding/json escapes although it need not (HTML's
// special characters, line separators) is written as it is.
func (p *canonizer) text() bool {
	start := p.at + 1 // of what is not copied yet
	p.out = append(p.out, '"')
	for i := start; i < len(p.in); {
		switch c := p.in[i]; {
		case c == '"':
			p.out = append(append(p.out, p.in[start:i]...), '"')
			p.at = i + 1
			return true
		case c == '\\':
			p.out = append(p.out, p.in[start:i]...)
			size, ok := p.escape(p.in[i:])
			if !ok {
				return false
			}
			i += size
			start = i
		case c < ' ':
			return false
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(p.in[i:])
			if r == utf8.RuneError && size <= 1 {
				return false
			}
			i += size
		}
	}
	return false
}

// escape writes one escape in its canonical form and returns its length in the
// input.
func (p *canonizer) escape(in []byte) (int, bool) {
	const short, long = len(`\n`), len(`\u0000`)
	if len(in) < short {
		return 0, false
	}
	switch in[1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		p.out = append(p.out, in[:short]...)
		return short, true
	case 'u':
	default:
		return 0, false
	}
	if len(in) < long {
		return 0, false
	}
	n, err := strconv.ParseUint(string(in[short:long]), 16, 16)
	r := rune(n)
	if err != nil || !utf8.ValidRune(r) || r < ' ' || r == '"' || r == '\\' {
		return 0, false
	}
	p.out = utf8.AppendRune(p.out, r)
	return long, true
}
