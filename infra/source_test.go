package infra_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the template that is deployed; it names the others.
const root = "template.yaml"

// object is a YAML mapping. Intrinsic functions are written out: !Ref X is {"Ref": "X"}, !GetAtt A.B is {"Fn::GetAtt": ["A", "B"]}.
type object = map[string]any

// stack is a template as it stands in the tree.
type stack struct {
	file  string
	lines []string
	node  *yaml.Node
	doc   object
}

// stacks are the root template and those that it nests, by file.
type stacks map[string]*stack

// load reads the root and whatever it nests. change, when there is one, edits a file's text on the way.
func load(t *testing.T, change func(file, text string) string) stacks {
	t.Helper()
	all := stacks{}
	for files := []string{root}; len(files) > 0; files = files[1:] {
		file := files[0]
		text, err := os.ReadFile(path.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		s := string(text)
		if change != nil {
			s = change(file, s)
		}
		all[file] = parse(t, file, s)
		for _, r := range all[file].resources("AWS::CloudFormation::Stack") {
			files = append(files, fmt.Sprint(r.properties["TemplateURL"]))
		}
	}
	return all
}

func parse(t *testing.T, file, text string) *stack {
	t.Helper()
	s := &stack{file: file, lines: strings.Split(text, "\n"), node: &yaml.Node{}}
	if err := yaml.NewDecoder(bytes.NewReader([]byte(text))).Decode(s.node); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	s.doc, _ = value(s.node.Content[0]).(object)
	return s
}

// value is a node as plain Go, with intrinsic functions written out.
func value(n *yaml.Node) any {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return intrinsic(n)
	}
	switch n.Kind {
	case yaml.MappingNode:
		o := object{}
		for i := 0; i < len(n.Content); i += 2 {
			o[n.Content[i].Value] = value(n.Content[i+1])
		}
		return o
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = value(c)
		}
		return list
	case yaml.AliasNode:
		return value(n.Alias)
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			return n.Value
		}
		return v
	}
}

func intrinsic(n *yaml.Node) any {
	plain := *n
	plain.Tag = ""
	if n.Kind == yaml.ScalarNode {
		plain.Tag = "!!str"
	}
	arg := value(&plain)
	switch name := n.Tag[1:]; name {
	case "Ref", "Condition":
		return object{name: arg}
	case "GetAtt":
		if s, ok := arg.(string); ok {
			logical, attribute, _ := strings.Cut(s, ".")
			arg = []any{logical, attribute}
		}
		return object{"Fn::GetAtt": arg}
	default:
		return object{"Fn::" + name: arg}
	}
}

// resource is an entry of Resources.
type resource struct {
	id         string
	kind       string
	whole      object
	properties object
}

// resources of a type, by logical ID; "" for all.
func (s *stack) resources(kind string) []resource {
	var found []resource
	all := child(s.doc, "Resources")
	for _, id := range slices.Sorted(maps.Keys(all)) {
		r := resource{id: id, whole: child(all, id), properties: child(all, id, "Properties")}
		r.kind, _ = r.whole["Type"].(string)
		if kind == "" || r.kind == kind {
			found = append(found, r)
		}
	}
	return found
}

func (s *stack) resource(id string) resource {
	for _, r := range s.resources("") {
		if r.id == id {
			return r
		}
	}
	return resource{id: id}
}

// child follows names into mappings; what is not there is an empty one.
func child(o object, names ...string) object {
	for _, name := range names {
		next, _ := o[name].(object)
		o = next
	}
	return o
}

// list is a sequence, or a single value as one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// branches are the two sides of an Fn::If on a condition.
func branches(v any, condition string) (then, otherwise any, ok bool) {
	o, _ := v.(object)
	if three, is := o["Fn::If"].([]any); is && len(three) == 3 && three[0] == condition {
		return three[1], three[2], true
	}
	return nil, nil, false
}

// walk visits every value below v, outermost first.
func walk(v any, visit func(any)) {
	visit(v)
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], visit)
		}
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	}
}

// show is a value in short, for messages and for comparing.
func show(v any) string {
	switch v := v.(type) {
	case object:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+show(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
