package asl

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// enteredLayout is how the context object writes an instant: UTC, always with three decimals, so that two of them compare as text.
const enteredLayout = "2006-01-02T15:04:05.000Z"

// contextField is one field of the context object ("Accessing execution data from the Context object").
type contextField struct {
	steps []string
	deep  bool // a path may go on below it
	read  func(e *execution) any
}

// contextFields are the fields that our definitions use.
var contextFields = []contextField{
	{steps: []string{"Execution", "Name"}, read: func(e *execution) any { return e.name }},
	{steps: []string{"Execution", "Input"}, deep: true, read: func(e *execution) any { return e.input }},
	{steps: []string{"State", "EnteredTime"}, read: func(e *execution) any { return e.enteredAt.UTC().Format(enteredLayout) }},
	{steps: []string{"State", "RetryCount"}, read: func(e *execution) any { return e.retries }},
	{steps: []string{"Task", "Token"}, read: func(e *execution) any { return e.token }},
}

// source is where a template's value comes from: "$…" is the state's input, "$$…" the context object.
type source struct {
	path    path
	context func(e *execution) any // nil: the state's input
	token   bool                   // it is the callback token
}

// parseSource reads a path of either kind; a context field that is not in [contextFields] is refused.
func parseSource(text string) (source, error) {
	below, ofContext := strings.CutPrefix(text, "$$")
	if !ofContext {
		p, err := parsePath(text)
		return source{path: p}, err
	}
	p, err := parsePath("$" + below)
	if err != nil {
		return source{}, err
	}
	p.text = text
	for _, field := range contextFields {
		n := len(field.steps)
		if len(p.steps) < n || len(p.steps) > n && !field.deep {
			continue
		}
		if slices.EqualFunc(field.steps, p.steps[:n], func(name string, step any) bool { return step == name }) {
			p.steps = p.steps[n:]
			return source{path: p, context: field.read, token: field.steps[0] == "Task"}, nil
		}
	}
	return source{}, fmt.Errorf("%q is no field of the context object that this interpreter knows", text)
}

// read finds the value for an execution; a path that finds nothing is States.Runtime.
func (s source) read(e *execution) (any, *Error) {
	document := e.data
	if s.context != nil {
		document = s.context(e)
	}
	value, ok := s.path.read(document)
	if !ok {
		return nil, runtimeError("the path %s finds nothing in state %s", s.path.text, e.at.name)
	}
	return value, nil
}

// parseInputPath takes a path into the state's input.
func parseInputPath(o *object, field string) source {
	text := o.text(field)
	if o.err != nil {
		return source{}
	}
	s, err := parseSource(text)
	if err != nil {
		o.fail(field, "%v", err)
	} else if s.context != nil {
		o.fail(field, "%q is not in the state's input", text)
	}
	return s
}

// span is a whole number of seconds, from low to [maxSeconds], that a definition says or
// that a path into the state's input finds.
type span struct {
	fixed time.Duration
	found *source // nil: fixed counts
	low   int
}

// parseSpan takes a field of seconds, or the field with Path behind its name.
func parseSpan(o *object, field string, low int) span {
	switch {
	case o.has(field) && o.has(field+"Path"):
		o.fail(field, "and %sPath exclude each other", field)
	case o.has(field + "Path"):
		s := parseInputPath(o, field+"Path")
		return span{found: &s, low: low}
	}
	return span{fixed: time.Duration(o.whole(field, low, maxSeconds)) * time.Second}
}

// in is the span for an execution.
func (s span) in(e *execution) (time.Duration, *Error) {
	if s.found == nil {
		return s.fixed, nil
	}
	value, err := s.found.read(e)
	if err != nil {
		return 0, err
	}
	if number, ok := value.(json.Number); ok {
		if n, err := number.Int64(); err == nil && n >= int64(s.low) && n <= maxSeconds {
			return time.Duration(n) * time.Second, nil
		}
	}
	return 0, runtimeError("the path %s in state %s: want a whole number of seconds from %d to %d", s.found.path.text, e.at.name, s.low, maxSeconds)
}
