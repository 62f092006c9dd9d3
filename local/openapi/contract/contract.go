// Package contract holds answers against events/openapi.json, in tests: whether an
// operation has such a status, media type and headers, and whether the body, or each
// event of a stream, is what its schema says. Members that a schema does not name are
// wrong here, though clients must ignore them: what is sent is to be described.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL is the name of the description among the compiler's resources.
const documentURL = "openapi.json"

// Contract is the description, ready to be held against answers.
type Contract struct {
	operations []*Operation
	failure    *jsonschema.Schema
}

// document is what is read of the description.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Responses map[string]described `json:"responses"`
	} `json:"components"`
}

// described is a Response Object, or a reference to one.
type described struct {
	Ref     string `json:"$ref"`
	Headers map[string]struct {
		Required bool `json:"required"`
	} `json:"headers"`
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

// Methods are the members of a Path Item Object that are operations.
func Methods() []string { return []string{"delete", "get", "patch", "post", "put"} }

// New reads a description.
func New(text []byte) (*Contract, error) {
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("the description: %w", err)
	}
	c := &Contract{}
	compiler, err := compilerOf(text)
	if err != nil {
		return nil, err
	}
	if c.failure, err = compiler.Compile(documentURL + "#/components/schemas/Error"); err != nil {
		return nil, err
	}
	for path, item := range doc.Paths {
		for _, method := range Methods() {
			if raw, is := item[method]; is {
				o, err := doc.operation(compiler, path, method, raw)
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", method, path, err)
				}
				c.operations = append(c.operations, o)
			}
		}
	}
	return c, nil
}

// compilerOf has the description as a resource, with its objects closed.
func compilerOf(text []byte) (*jsonschema.Compiler, error) {
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	closeObjects(tree)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.AssertContent()
	return compiler, compiler.AddResource(documentURL, tree)
}

// closeObjects lets no object have members that its schema does not name.
func closeObjects(tree any) {
	switch node := tree.(type) {
	case map[string]any:
		for _, below := range node {
			closeObjects(below)
		}
		_, named := node["properties"].(map[string]any)
		_, open := node["additionalProperties"]
		if named && node["type"] == "object" && !open {
			node["additionalProperties"] = false
		}
	case []any:
		for _, below := range node {
			closeObjects(below)
		}
	}
}

// pointer is a JSON pointer as the fragment of an address.
func pointer(segments ...string) string {
	var b strings.Builder
	b.WriteString(documentURL + "#")
	for _, s := range segments {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}
