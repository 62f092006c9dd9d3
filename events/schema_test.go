package events_test

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// schema is what is read of a Schema Object.
type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	ContentEncoding      string            `json:"contentEncoding"`
	Enum                 []string          `json:"enum"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	OneOf                []schema          `json:"oneOf"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
}

func schemaName(s schema) string { return strings.TrimPrefix(s.Ref, "#/components/schemas/") }

// differs says how a schema is not a field's.
func (d description) differs(s schema, f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		if s.Type != "object" || len(s.AdditionalProperties) == 0 {
			return "must be an object with additionalProperties"
		}
		return ""
	case f.IsList():
		if s.Type != "array" || s.Items == nil {
			return "must be an array"
		}
		s = *s.Items
	}
	kind := f.Kind()
	if message := f.Message(); message != nil {
		return d.differsMessage(s, message)
	}
	if enum := f.Enum(); enum != nil {
		return d.differsEnum(s, enum)
	}
	want := map[protoreflect.Kind]schema{
		protoreflect.StringKind: {Type: "string"}, protoreflect.BoolKind: {Type: "boolean"},
		protoreflect.Int32Kind: {Type: "integer", Format: "int32"}, protoreflect.BytesKind: {Type: "string", ContentEncoding: "base64"},
	}[kind]
	if s.Type != want.Type || s.Format != want.Format || s.ContentEncoding != want.ContentEncoding {
		return "is " + s.Type + " " + s.Format + s.ContentEncoding + ", the proto says " + kind.String()
	}
	return ""
}

func (d description) differsMessage(s schema, m protoreflect.MessageDescriptor) string {
	whole := s
	if s.Ref != "" {
		whole = d.Components.Schemas[schemaName(s)]
	}
	switch m.FullName() {
	case "google.protobuf.Struct":
		if whole.Type != "object" {
			return "must be an object"
		}
	case "google.protobuf.Timestamp":
		if whole.Type != "string" || whole.Format != "date-time" {
			return "must be a string in the format date-time"
		}
	case "google.protobuf.Value":
		if whole.Type != "" {
			return "must be any value"
		}
	default:
		if schemaName(s) != string(m.Name()) {
			return "is a " + schemaName(s) + ", the proto says " + string(m.Name())
		}
	}
	return ""
}

// differsEnum leaves out the unspecified value, which is never sent.
func (d description) differsEnum(s schema, e protoreflect.EnumDescriptor) string {
	got := d.Components.Schemas[string(e.Name())].Enum
	var want []string
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); v.Number() != 0 {
			want = append(want, string(v.Name()))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if schemaName(s) != string(e.Name()) || !slices.Equal(got, want) {
		return "must be the enum " + string(e.Name()) + " with " + strings.Join(want, ", ")
	}
	return ""
}
