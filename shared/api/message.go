package api

import (
	"encoding/json"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// message reads and checks a caller's message (A2A §4.1.4).
func (r *reader) message(v value) *a2a.Message {
	m := &a2a.Message{}
	if !v.object() {
		r.wrong("message", "must be an object")
		return m
	}
	known := len(r.violations)
	r.fields(v, func(name string, v value) {
		field := "message." + name
		switch name {
		case "messageId":
			m.ID = r.text(v, field)
		case "contextId":
			m.ContextID = r.text(v, field)
		case "taskId":
			m.TaskID = a2a.TaskID(r.text(v, field))
		case "role":
			m.Role = a2a.MessageRole(r.text(v, field))
		case "parts":
			m.Parts = r.parts(v, field)
		case "metadata":
			m.Metadata = r.object(v, field)
		case "extensions":
			m.Extensions = r.texts(v, field)
		case "referenceTaskIds":
			for _, id := range r.texts(v, field) {
				m.ReferenceTasks = append(m.ReferenceTasks, a2a.TaskID(id))
			}
		}
	})
	if len(r.violations) > known {
		return m // a field of the wrong type is not missing as well
	}
	r.name(m.ID, "message.messageId", lifecycle.MaxIDBytes)
	if m.ContextID != "" {
		r.name(m.ContextID, "message.contextId", lifecycle.MaxIDBytes)
	}
	if m.Role != a2a.MessageRoleUser {
		r.wrong("message.role", "must be %s", a2a.MessageRoleUser)
	}
	if len(m.Parts) == 0 {
		r.wrong("message.parts", "must hold at least one part")
	}
	return m
}

func (r *reader) parts(v value, field string) a2a.ContentParts {
	if !v.array() {
		r.wrong(field, "must be an array")
		return nil
	}
	var parts a2a.ContentParts
	v.items(func(i int, v value) {
		parts = append(parts, r.part(v, field+"["+strconv.Itoa(i)+"]"))
	})
	return parts
}

// part reads a part with exactly one content (A2A §4.1.6).
func (r *reader) part(v value, at string) *a2a.Part {
	p := &a2a.Part{}
	if !v.object() {
		r.wrong(at, "must be an object")
		return p
	}
	known, contents := len(r.violations), map[string]bool{}
	v.members(func(name string, v value) {
		if v.null() && name != "data" {
			return
		}
		field := at + "." + name
		switch camel(name) {
		case "text":
			p.Content = a2a.Text(r.text(v, field))
			contents[name] = true
		case "raw":
			p.Content = r.base64(v, field)
			contents[name] = true
		case "data":
			p.Content = r.data(v, field)
			contents[name] = true
		case "url":
			p.Content = r.url(v, field)
			contents[name] = true
		case "filename":
			p.Filename = r.text(v, field)
		case "mediaType":
			p.MediaType = r.text(v, field)
		case "metadata":
			p.Metadata = r.object(v, field)
		}
	})
	if len(contents) != 1 && len(r.violations) == known {
		r.wrong(at, "must have exactly one of text, raw, data and url, not %d", len(contents))
	}
	return p
}

func (r *reader) data(v value, field string) a2a.Data {
	var d a2a.Data
	if v.null() {
		// The SDK's part, which the ledger keeps, cannot tell it from a part without
		// content.
		r.wrong(field, "must not be null; nest the null in an object or an array")
	} else if err := json.Unmarshal(v, &d.Value); err != nil {
		r.wrong(field, "holds a number that does not fit an IEEE double")
	}
	return d
}

func (r *reader) url(v value, field string) a2a.URL {
	u := a2a.URL(r.text(v, field))
	if _, inside := lifecycle.AsBlob(&a2a.Part{Content: u}); inside || u == "" {
		r.wrong(field, "must be an address that others can reach")
	}
	return u
}
