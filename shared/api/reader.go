package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// violation is one wrong field, as google.rpc.BadRequest shows it (A2A §9.5).
type violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

// maxViolations bounds an answer: a caller who has ten faults corrected asks again.
const maxViolations = 10

// reader turns values into what a request needs, and notes every field that is
// not what it should be. Names of fields are paths: message.parts[0].text.
type reader struct{ violations []violation }

func (r *reader) wrong(field, format string, args ...any) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, violation{field, fmt.Sprintf(format, args...)})
	}
}

// err is the refusal of a request with wrong fields.
func (r *reader) err() error {
	if len(r.violations) == 0 {
		return nil
	}
	first := r.violations[0]
	out := refuse(a2a.ErrInvalidParams, "%s: %s", first.Field, first.Description)
	out.fields = r.violations
	return out
}

func (r *reader) text(v value, field string) string {
	if !v.string() {
		r.wrong(field, "must be a string")
		return ""
	}
	return v.text()
}

func (r *reader) flag(v value, field string) bool {
	if !v.bool() {
		r.wrong(field, "must be true or false")
		return false
	}
	return v[0] == 't'
}

// integer reads a JSON number without fraction; 10, 10.0 and 1e1 are the same.
func (r *reader) integer(v value, field string) *int {
	if v.number() {
		if n, err := strconv.ParseInt(string(v), 10, 32); err == nil {
			return new(int(n))
		}
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
			return new(int(f))
		}
	}
	r.wrong(field, "must be an integer of 32 bits")
	return nil
}

// object reads free-form metadata.
func (r *reader) object(v value, field string) map[string]any {
	if !v.object() {
		r.wrong(field, "must be an object")
		return nil
	}
	var out map[string]any
	if err := json.Unmarshal(v, &out); err != nil {
		r.wrong(field, "holds a number that does not fit an IEEE double")
		return nil
	}
	return out
}

func (r *reader) texts(v value, field string) []string {
	if !v.array() {
		r.wrong(field, "must be an array of strings")
		return nil
	}
	var out []string
	v.items(func(i int, v value) { out = append(out, r.text(v, fmt.Sprintf("%s[%d]", field, i))) })
	return out
}

// base64 takes the standard and the URL alphabet, padded or not, as ProtoJSON does.
func (r *reader) base64(v value, field string) a2a.Raw {
	s := strings.TrimRight(r.text(v, field), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	out, err := encoding.DecodeString(s)
	if err != nil {
		r.wrong(field, "must be base64")
	}
	return out
}

// instant reads a timestamp (A2A §5.6.1).
func (r *reader) instant(s, field string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		r.wrong(field, "must be a timestamp like 2025-10-28T10:30:00.000Z")
		return time.Time{}
	}
	return t
}

// state reads a task state. The unspecified one is the same as absent.
func (r *reader) state(s, field string) a2a.TaskState {
	switch state := a2a.TaskState(s); {
	case s == a2a.TaskStateUnspecified.String():
		return ""
	case lifecycle.Known(state):
		return state
	}
	names := make([]string, 0, len(lifecycle.States()))
	for _, known := range lifecycle.States() {
		names = append(names, string(known))
	}
	r.wrong(field, "must be one of %s", strings.Join(names, ", "))
	return ""
}

// history checks a history length (A2A §3.2.4).
func (r *reader) history(n *int, field string) *int {
	if n != nil && *n < 0 {
		r.wrong(field, "must not be negative")
	}
	return n
}

// name checks an identifier that a caller chose.
func (r *reader) name(s, field string, limit int) {
	switch {
	case s == "":
		r.wrong(field, "is required")
	case len(s) > limit:
		r.wrong(field, "has %d bytes, the limit is %d", len(s), limit)
	case !printable(s):
		r.wrong(field, "must consist of printable characters")
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}
