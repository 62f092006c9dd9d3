package contract

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Media types of which each piece is held against the schema, not the whole.
const (
	eventStream = "text/event-stream"
	lines       = "application/x-ndjson"
)

// Check holds a whole answer against the description.
func (c *Contract) Check(r *http.Request, status int, header http.Header, body []byte) error {
	schema, media, err := c.expect(r, status, header)
	switch {
	case err != nil || schema == nil || r.Method == http.MethodHead || media == eventStream:
	case media == lines:
		for line := range bytes.Lines(body) {
			err = errors.Join(err, conforms(schema, line))
		}
	default:
		err = conforms(schema, body)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %d: %w", r.Method, r.URL.RequestURI(), status, err)
	}
	return nil
}

// expect checks all but the body, whose schema and media type it returns. What is not
// described may be an address that leads nowhere, or a method that it does not take.
func (c *Contract) expect(r *http.Request, status int, header http.Header) (*jsonschema.Schema, string, error) {
	// What cannot be parsed is no media type of the description's.
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	o := c.find(r.Method, r.URL)
	switch {
	case strings.HasSuffix(r.URL.Path, "/rpc"): // JSON-RPC is not described
		return nil, "", nil
	case o == nil && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed && header.Get("Allow") != ""):
		return c.failure, media, nil
	case o == nil:
		return nil, "", errors.New("the operation is not described")
	}
	a, is := o.answers[status]
	if !is {
		return nil, "", fmt.Errorf("%s has no such status", o.ID)
	}
	for _, name := range a.headers {
		if header.Get(name) == "" {
			return nil, "", fmt.Errorf("%s: the header %s is missing", o.ID, name)
		}
	}
	if len(a.bodies) == 0 {
		return nil, "", nil
	}
	schema, is := a.bodies[media]
	if !is {
		return nil, "", fmt.Errorf("%s: the media type %q is not described", o.ID, header.Get("Content-Type"))
	}
	return schema, media, nil
}

func conforms(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%w\n%.2000s", err, body)
	}
	return nil
}

// event checks an event of a stream; a comment is none.
func event(schema *jsonschema.Schema, block string) error {
	value := map[string]any{}
	for line := range strings.SplitSeq(block, "\n") {
		name, text, _ := strings.Cut(line, ":")
		if name == "" {
			continue
		}
		if _, twice := value[name]; twice {
			return fmt.Errorf("an event has the field %q twice: %.2000s", name, block)
		}
		value[name] = strings.TrimPrefix(text, " ")
	}
	if len(value) == 0 {
		return nil
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w\n%.2000s", err, block)
	}
	return nil
}
