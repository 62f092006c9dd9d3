package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Operation is one method at one path.
type Operation struct {
	ID, Method, Path string

	pattern *regexp.Regexp
	fixed   int // bytes of the path that are no parameters: the more, the better it fits
	answers map[int]answer
}

// answer is what a status may come with.
type answer struct {
	headers []string // required
	bodies  map[string]*jsonschema.Schema
}

// inPath are the parameters in a path.
var inPath = regexp.MustCompile(`\{[^}]+\}`)

func (d *document) operation(compiler *jsonschema.Compiler, path, method string, raw json.RawMessage) (*Operation, error) {
	var in struct {
		OperationID string               `json:"operationId"`
		Responses   map[string]described `json:"responses"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	o := &Operation{ID: in.OperationID, Method: strings.ToUpper(method), Path: path, answers: map[int]answer{}}
	literal := inPath.Split(path, -1)
	for i, l := range literal {
		o.fixed += len(l)
		literal[i] = regexp.QuoteMeta(l)
	}
	o.pattern = regexp.MustCompile("^" + strings.Join(literal, "[^/]+") + "$")
	for code, r := range in.Responses {
		status, err := strconv.Atoi(code)
		if err != nil {
			return nil, fmt.Errorf("the status %q is no number", code)
		}
		at := []string{"paths", path, method, "responses", code}
		if name, is := strings.CutPrefix(r.Ref, "#/components/responses/"); is {
			r, at = d.Components.Responses[name], []string{"components", "responses", name}
		}
		a := answer{bodies: map[string]*jsonschema.Schema{}}
		for name, h := range r.Headers {
			if h.Required {
				a.headers = append(a.headers, name)
			}
		}
		for media, m := range r.Content {
			a.bodies[media] = nil
			if m.Schema == nil {
				continue
			}
			if a.bodies[media], err = compiler.Compile(pointer(append(at, "content", media, "schema")...)); err != nil {
				return nil, err
			}
		}
		o.answers[status] = a
	}
	return o, nil
}

// Find looks up what a request asks for. An agent's name may stand before the path.
func (c *Contract) Find(method, path string) *Operation {
	if method == "HEAD" {
		method = "GET"
	}
	_, behind, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	var best *Operation
	for _, o := range c.operations {
		fits := o.pattern.MatchString(path) || o.pattern.MatchString("/"+behind)
		if fits && o.Method == method && (best == nil || o.fixed > best.fixed) {
			best = o
		}
	}
	return best
}

// find is Find for a request's address.
func (c *Contract) find(method string, at *url.URL) *Operation {
	return c.Find(method, at.EscapedPath())
}

// Operations are all of them, in no order.
func (c *Contract) Operations() []*Operation { return c.operations }

// Statuses are those that the operation may answer with.
func (o *Operation) Statuses() []int {
	var out []int
	for status := range o.answers {
		out = append(out, status)
	}
	return out
}
