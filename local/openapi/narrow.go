package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// object is an object of the description.
type object = map[string]any

// below is the object at a path of members, nil if there is none.
func below(n object, path ...string) object {
	for _, member := range path {
		n, _ = n[member].(object)
	}
	return n
}

// narrowed is the description as schemathesis gets it: tasks and parts are those that
// there are, webhooks lead here, what chooses an agent is its name or nothing, and
// messages are such as the agent takes now and then. The first task is canceled by
// nobody, for the others' sake. What breaks the description is still made up.
func narrowed(text []byte, seen names, a subject) ([]byte, error) {
	var doc object
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	oneOf := func(values ...string) object { return object{"type": "string", "enum": values} }
	for name := range below(doc, "components", "schemas") {
		if properties := below(doc, "components", "schemas", name, "properties"); properties["tenant"] != nil {
			properties["tenant"] = oneOf(a.name, "")
		}
	}
	schema := func(name string) []string { return []string{"components", "schemas", name, "properties"} }
	parameter := func(name string) []string { return []string{"components", "parameters", name} }
	cancel := below(doc, "paths", "/tasks/{id}:cancel", "post")
	if parameters, _ := cancel["parameters"].([]any); len(parameters) > 0 {
		parameters[0] = object{"name": "id", "in": "path", "required": true, "schema": object{}}
		cancel["first"] = parameters[0]
	}
	for _, change := range []struct {
		at     []string
		member string
		to     object
	}{
		{schema("TaskPushNotificationConfig"), "url", oneOf(seen.hook)},
		{schema("SendMessageRequest"), "message", message(below(doc, "components", "schemas", "Message"), a)},
		{schema("SendMessageConfiguration"), "acceptedOutputModes", object{"type": "array", "items": oneOf("text/plain", "text/*", "image/png")}},
		{parameter("Tenant"), "schema", oneOf(a.name, "")},
		{parameter("Task"), "schema", oneOf(seen.tasks...)},
		{parameter("TaskOfConfig"), "schema", oneOf(seen.tasks...)},
		{parameter("Config"), "schema", oneOf(hookID)},
		{parameter("Digest"), "schema", oneOf(seen.digests...)},
		{[]string{"paths", "/tasks/{id}:cancel", "post", "first"}, "schema", oneOf(seen.tasks[1:]...)},
	} {
		n := below(doc, change.at...)
		if n[change.member] == nil {
			return nil, fmt.Errorf("the description has no %s/%s any more", strings.Join(change.at, "/"), change.member)
		}
		n[change.member] = change.to
	}
	delete(cancel, "first")
	return json.Marshal(doc)
}

// message is what is sent: most of its parts are texts that the agent understands.
func message(whole object, a subject) object {
	properties := maps.Clone(below(whole, "properties"))
	known := object{"type": "object", "properties": object{"text": object{"type": "string", "enum": a.texts}}, "required": []string{"text"}, "additionalProperties": false}
	properties["role"] = object{"const": "ROLE_USER"}
	properties["parts"] = object{"type": "array", "minItems": 1, "items": object{"anyOf": []object{known, known, {"$ref": "#/components/schemas/Part"}}}}
	out := maps.Clone(whole)
	if properties != nil {
		out["properties"] = properties
	}
	return out
}
