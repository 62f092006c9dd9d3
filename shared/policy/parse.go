package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// maxBytes is more than a document with all that it may say has.
	maxBytes = 32 << 10
	// maxVersion keeps name@version below lifecycle.MaxNameBytes.
	maxVersion = 999_999_999
	// maxUnits keeps every sum of units within what JSON numbers hold exactly.
	maxUnits = 1_000_000
)

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,53}$`)
	effectForm = regexp.MustCompile(`^(\*|[a-z0-9][a-z0-9._-]{0,62}\*?|[a-z0-9][a-z0-9._-]{63})$`)
)

// Parse reads a document. The error is every *Invalid there is, joined; source says in
// them which document it is.
func Parse(source string, raw []byte) (Document, error) {
	p := &parser{source: source}
	var d Document
	switch {
	case len(raw) > maxBytes:
		p.wrong("", "has %d bytes, the limit is %d", len(raw), maxBytes)
	case !utf8.Valid(raw):
		p.wrong("", "is not UTF-8")
	default:
		d = p.document(raw)
	}
	if len(p.problems) > 0 {
		return Document{}, errors.Join(p.problems...)
	}
	canonical, err := lifecycle.Canonical(json.RawMessage(raw))
	if err != nil {
		return Document{}, &Invalid{source, "", "has no canonical form: " + err.Error()}
	}
	d.canonical, d.digest = canonical, lifecycle.DigestBytes(canonical)
	return d, nil
}

// parser gathers every problem of a document.
type parser struct {
	source   string
	problems []error
}

func (p *parser) wrong(field, format string, args ...any) {
	p.problems = append(p.problems, &Invalid{p.source, field, fmt.Sprintf(format, args...)})
}

// object is an object within the document, with the members that nobody has read yet.
type object struct {
	*parser

	path string // of its members, with a "." at its end; empty at the top
	left map[string]json.RawMessage
	ok   bool
}

// object reads an object. A member that is there twice is refused: encoding/json would
// take the last one.
func (p *parser) object(field string, raw json.RawMessage) *object {
	o := &object{parser: p, left: map[string]json.RawMessage{}}
	if field != "" {
		o.path = field + "."
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		p.wrong(field, "is no JSON object")
		return o
	}
	for dec.More() {
		t, err := dec.Token()
		name, is := t.(string)
		var value json.RawMessage
		if err == nil && is {
			err = dec.Decode(&value)
		}
		if err != nil {
			p.wrong(field, "is no JSON: %v", err)
			return o
		}
		if _, twice := o.left[name]; twice {
			p.wrong(o.path+name, "is there twice")
		}
		o.left[name] = value
	}
	if _, err := dec.Token(); err != nil {
		p.wrong(field, "is no JSON: %v", err)
		return o
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		p.wrong(field, "has something behind its object")
		return o
	}
	o.ok = true
	return o
}

// take hands out a member, once.
func (o *object) take(name string, needed bool) (json.RawMessage, bool) {
	raw, there := o.left[name]
	delete(o.left, name)
	if !there && needed && o.ok {
		o.wrong(o.path+name, "is missing")
	}
	return raw, there
}

// end refuses the members that nobody asked for.
func (o *object) end() {
	for _, name := range slices.Sorted(maps.Keys(o.left)) {
		o.wrong(o.path+name, "is not known")
	}
}

func (o *object) text(name string, limit int) string {
	raw, there := o.take(name, true)
	if !there {
		return ""
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil || strings.TrimSpace(*s) == "" || len(*s) > limit || strings.ContainsFunc(*s, unicode.IsControl) {
		o.wrong(o.path+name, "must be a text of 1 to %d bytes without control characters", limit)
		return ""
	}
	return *s
}

func (o *object) number(name string, needed bool, least, most int64) int64 {
	raw, there := o.take(name, needed)
	if !there {
		return 0
	}
	var n *int64
	if json.Unmarshal(raw, &n) != nil || n == nil || *n < least || *n > most {
		o.wrong(o.path+name, "must be a whole number from %d to %d", least, most)
		return 0
	}
	return *n
}

// span is a number of seconds. why says why there is a least one.
func (o *object) span(name string, needed bool, least, most time.Duration, why string) time.Duration {
	before := len(o.problems)
	n := o.number(name, needed, int64(least/time.Second), int64(most/time.Second))
	for _, problem := range o.problems[before:] {
		if invalid, is := errors.AsType[*Invalid](problem); is && why != "" && invalid.Problem != "is missing" {
			invalid.Problem += ": " + why
		}
	}
	return time.Duration(n) * time.Second
}

func (o *object) truth(name string) bool {
	raw, there := o.take(name, true)
	var b *bool
	if there && (json.Unmarshal(raw, &b) != nil || b == nil) {
		o.wrong(o.path+name, "must be true or false")
	}
	return b != nil && *b
}

func (p *parser) document(raw json.RawMessage) Document {
	o := p.object("", raw)
	d := Document{
		Name: o.text("name", lifecycle.MaxNameBytes), Version: int(o.number("version", true, 1, maxVersion)), Owner: o.text("owner", lifecycle.MaxIDBytes),
		Lease:        o.span("leaseSeconds", false, time.Second, lifecycle.MaxLease, "so long a task waits whose holder has died"),
		LongestLife:  o.span("longestLifeSeconds", true, time.Minute, lifecycle.MaxLife, ""),
		LongestPause: o.span("longestPauseSeconds", true, time.Minute, lifecycle.MaxPause, ""),
	}
	if d.Name != "" && !nameForm.MatchString(d.Name) {
		p.wrong("name", "must match %s", nameForm)
	}
	if raw, there := o.take("retentionSeconds", true); there {
		d.Retention = p.retention(raw)
	}
	if raw, there := o.take("billing", true); there {
		d.Billing = p.billing(raw)
	}
	if raw, there := o.take("effects", false); there {
		d.Effects = p.effects(raw, d.Billing.Basis)
	}
	o.end()
	return d
}

func (p *parser) retention(raw json.RawMessage) Retention {
	const outlive = "the task must outlive the deliveries to its webhooks"
	o := p.object("retentionSeconds", raw)
	r := Retention{
		Completed:   o.span("completed", true, lifecycle.MinRetention, lifecycle.MaxRetention, outlive),
		Failed:      o.span("failed", true, lifecycle.MinRetention, lifecycle.MaxRetention, outlive),
		Canceled:    o.span("canceled", true, lifecycle.MinRetention, lifecycle.MaxRetention, outlive),
		Rejected:    o.span("rejected", true, lifecycle.MinRetention, lifecycle.MaxRetention, outlive),
		AfterExport: o.span("afterExport", true, lifecycle.MinExported, lifecycle.MaxRetention, "whoever acknowledges may have to ask again"),
	}
	if least := min(r.Completed, r.Failed, r.Canceled, r.Rejected); least > 0 && r.AfterExport > least {
		p.wrong("retentionSeconds.afterExport", "is longer than the shortest of the others, which is %d: an acknowledged export only shortens", int64(least/time.Second))
	}
	o.end()
	return r
}

func (p *parser) billing(raw json.RawMessage) lifecycle.Billing {
	const none = "none"
	o := p.object("billing", raw)
	b := lifecycle.Billing{Basis: lifecycle.Basis(o.text("basis", lifecycle.MaxNameBytes))}
	switch b.Basis {
	case lifecycle.BillAccepted, lifecycle.BillCompleted:
		b.Units = o.number("units", true, 1, maxUnits)
	case none:
		b.Basis = lifecycle.BillNothing
	case lifecycle.BillEffects, lifecycle.BillNothing:
	default:
		p.wrong("billing.basis", "must be none, accepted, completed or effects")
	}
	o.end()
	return b
}

func (p *parser) effects(raw json.RawMessage, basis lifecycle.Basis) map[string]lifecycle.EffectTerms {
	o := p.object("effects", raw)
	if len(o.left) > lifecycle.MaxEffectTerms {
		p.wrong("effects", "are %d, the limit is %d: they are in the first entry of every task", len(o.left), lifecycle.MaxEffectTerms)
	}
	out := map[string]lifecycle.EffectTerms{}
	for _, name := range slices.Sorted(maps.Keys(o.left)) {
		if !effectForm.MatchString(name) {
			p.wrong("effects."+name, "is no name of an effect, nor how some begin: it must match %s", effectForm)
			continue
		}
		one := p.object("effects."+name, o.left[name])
		compensable := one.truth("compensable")
		e := lifecycle.EffectTerms{Units: one.number("units", false, 1, maxUnits)}
		switch _, named := one.left["by"]; {
		case compensable:
			e.By = one.text("by", lifecycle.MaxIDBytes)
		case named:
			delete(one.left, "by")
			p.wrong(one.path+"by", "is of an effect that is not compensable: nobody undoes it")
		}
		if e.Units > 0 && basis != lifecycle.BillEffects {
			p.wrong(one.path+"units", "counts for the basis effects alone")
		}
		one.end()
		out[name] = e
	}
	return out
}
