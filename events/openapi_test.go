package events_test

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The description of the HTTP+JSON binding. Here it is held against A2A's proto, as
// the SDK carries it; local/openapi holds it against a running door.
//
//go:embed openapi.json
var openAPI []byte

type parameter struct {
	Ref      string `json:"$ref"`
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Schema   schema `json:"schema"`
}

type operation struct {
	OperationID string      `json:"operationId"`
	Parameters  []parameter `json:"parameters"`
	RequestBody *struct {
		Required bool            `json:"required"`
		Content  map[string]body `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]body `json:"content"`
	} `json:"responses"`
}

type body struct{ Schema schema }

type description struct {
	Servers    []struct{ URL string }
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas    map[string]schema
		Parameters map[string]parameter
	}
}

func described(t *testing.T) description {
	t.Helper()
	var d description
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d description) operation(t *testing.T, method, path string) operation {
	t.Helper()
	var o operation
	raw, is := d.Paths[path][method]
	if !is {
		t.Fatalf("%s %s is not described", method, path)
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	for i, p := range o.Parameters {
		if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
			o.Parameters[i] = d.Components.Parameters[name]
		}
	}
	return o
}

// capture is a variable in a path of the proto: {task_id=*}.
var capture = regexp.MustCompile(`\{([a-z_]+)=\*\}`)

func rule(m protoreflect.MethodDescriptor) (method, path string, hasBody bool, more []*annotations.HttpRule) {
	r, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	method, path = verb(r)
	return method, path, r.GetBody() != "", r.GetAdditionalBindings()
}

func verb(r *annotations.HttpRule) (method, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		method, path = "get", p.Get
	case *annotations.HttpRule_Post:
		method, path = "post", p.Post
	case *annotations.HttpRule_Delete:
		method, path = "delete", p.Delete
	}
	return method, capture.ReplaceAllStringFunc(path, func(s string) string {
		field := protoreflect.Name(capture.FindStringSubmatch(s)[1])
		return "{" + jsonName(field) + "}"
	})
}

func jsonName(field protoreflect.Name) string {
	words := strings.Split(string(field), "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// Each method of the service is there under its name, at the address and with the
// parameters, body and answer that the proto's annotations say.
func TestOpenAPIMethods(t *testing.T) {
	d := described(t)
	services := a2apb.File_a2av1_proto.Services()
	checked := 0
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			checked++
			m := methods.Get(j)
			t.Run(string(m.Name()), func(t *testing.T) { d.checkMethod(t, m) })
		}
	}
	if checked < 11 {
		t.Errorf("the proto has %d methods only", checked)
	}
}

func (d description) checkMethod(t *testing.T, m protoreflect.MethodDescriptor) {
	t.Helper()
	method, path, hasBody, more := rule(m)
	for _, binding := range more {
		if also, under := verb(binding); also != method || under != "/{tenant}"+path {
			t.Errorf("a binding that the description's servers do not cover: %s %s", also, under)
		}
	}
	if len(more) > 0 && (len(d.Servers) != 2 || d.Servers[1].URL != "/{agent}") {
		t.Errorf("servers %v do not cover /{tenant}%s", d.Servers, path)
	}
	o := d.operation(t, method, path)
	if o.OperationID != string(m.Name()) {
		t.Errorf("operationId %q", o.OperationID)
	}
	if hasBody != (o.RequestBody != nil) {
		t.Fatalf("the proto has a body: %t, the description: %t", hasBody, o.RequestBody != nil)
	}
	if hasBody {
		for media, b := range o.RequestBody.Content {
			if schemaName(b.Schema) != string(m.Input().Name()) {
				t.Errorf("%s: the body is a %s, the proto says %s", media, schemaName(b.Schema), m.Input().Name())
			}
		}
	} else {
		d.checkQuery(t, o, m.Input(), path)
	}
	d.checkAnswer(t, o, m)
}

// checkQuery holds a message's fields that are not in the path against the query.
func (d description) checkQuery(t *testing.T, o operation, in protoreflect.MessageDescriptor, path string) {
	t.Helper()
	for i := range in.Fields().Len() {
		f := in.Fields().Get(i)
		where := "query"
		if strings.Contains(path, "{"+f.JSONName()+"}") {
			where = "path"
		}
		k := slices.IndexFunc(o.Parameters, func(p parameter) bool { return p.In == where && p.Name == f.JSONName() })
		if k < 0 {
			t.Errorf("the parameter %s in the %s is missing", f.JSONName(), where)
			continue
		}
		if problem := d.differs(o.Parameters[k].Schema, f); problem != "" {
			t.Errorf("the parameter %s: %s", f.JSONName(), problem)
		}
	}
	for _, p := range o.Parameters {
		if p.In == "query" && in.Fields().ByJSONName(p.Name) == nil {
			t.Errorf("the proto has no field for the parameter %s", p.Name)
		}
	}
}

func (d description) checkAnswer(t *testing.T, o operation, m protoreflect.MethodDescriptor) {
	t.Helper()
	if len(o.Responses["200"].Content) == 0 {
		t.Error("no answer")
	}
	for media, b := range o.Responses["200"].Content {
		got, want := schemaName(b.Schema), string(m.Output().Name())
		switch {
		case m.IsStreamingServer():
			if media != "text/event-stream" || got != "StreamEvent" {
				t.Errorf("a stream of %s as %s", got, media)
			}
		case want == "Empty":
			if b.Schema.Type != "object" || len(b.Schema.Properties) > 0 {
				t.Errorf("the answer must be an empty object, is %+v", b.Schema)
			}
		case got != want:
			t.Errorf("%s: the answer is a %s, the proto says %s", media, got, want)
		}
	}
}

// notSent are messages that only stand for a request's query.
func notSent(m protoreflect.MessageDescriptor) bool {
	name := string(m.Name())
	return strings.HasSuffix(name, "Request") && name != "SendMessageRequest" && name != "CancelTaskRequest" && name != "SubscribeToTaskRequest"
}

// beyond are the fields that the description has and the proto has not, with the
// reason.
var beyond = map[string]string{
	"SubscribeToTaskRequest.metadata": "a resumption by POST names its cursor there",
}

// promised are the fields that the proto leaves open and this server always sends.
var promised = []string{
	"Task.contextId", "Task.metadata", "TaskStatus.timestamp", "TaskStatusUpdateEvent.metadata", "TaskArtifactUpdateEvent.metadata",
	"ListTaskPushNotificationConfigsResponse.configs", "ListTaskPushNotificationConfigsResponse.nextPageToken",
}

// pathNamed are the required fields that the address of a request names.
var pathNamed = []string{"CancelTaskRequest.id", "SubscribeToTaskRequest.id"}

// Each message has a schema with its fields, under their JSON names, with their types
// and oneofs; what the proto requires is required.
func TestOpenAPIMessages(t *testing.T) {
	d := described(t)
	messages := a2apb.File_a2av1_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		if notSent(m) {
			continue
		}
		t.Run(string(m.Name()), func(t *testing.T) { d.checkMessage(t, m) })
	}
}

func (d description) checkMessage(t *testing.T, m protoreflect.MessageDescriptor) {
	t.Helper()
	s, is := d.Components.Schemas[string(m.Name())]
	if !is {
		t.Fatal("it has no schema")
	}
	oneof := map[string]bool{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		at := string(m.Name()) + "." + f.JSONName()
		p, is := s.Properties[f.JSONName()]
		if !is {
			t.Errorf("%s is missing", at)
			continue
		}
		if problem := d.differs(p, f); problem != "" {
			t.Errorf("%s: %s", at, problem)
		}
		behavior, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		want := slices.Contains(behavior, annotations.FieldBehavior_REQUIRED) && !slices.Contains(pathNamed, at) || slices.Contains(promised, at)
		if got := slices.Contains(s.Required, f.JSONName()); got != want {
			t.Errorf("%s is required: %t, want %t", at, got, want)
		}
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			oneof[f.JSONName()] = true
		}
	}
	for name := range s.Properties {
		if at := string(m.Name()) + "." + name; m.Fields().ByJSONName(name) == nil && beyond[at] == "" {
			t.Errorf("the proto has no %s", at)
		}
	}
	for _, choice := range s.OneOf {
		if len(choice.Required) != 1 || !oneof[choice.Required[0]] {
			t.Errorf("oneOf %v: the proto has %v", choice.Required, oneof)
		}
	}
	if len(s.OneOf) != len(oneof) {
		t.Errorf("oneOf has %d choices, the proto %d", len(s.OneOf), len(oneof))
	}
}

// reference is a $ref in the text.
var reference = regexp.MustCompile(`"\$ref": "#/components/(schemas|parameters|responses)/([A-Za-z0-9]+)"`)

// Nothing is named that is not there, and nothing is there that is not named. No
// operation has its name twice.
func TestOpenAPIIsWhole(t *testing.T) {
	var d struct {
		Paths      map[string]map[string]json.RawMessage
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, found := range reference.FindAllSubmatch(openAPI, -1) {
		kind, name := string(found[1]), string(found[2])
		used[kind+"/"+name] = true
		if d.Components[kind][name] == nil {
			t.Errorf("%s/%s is named and not there", kind, name)
		}
	}
	if total := strings.Count(string(openAPI), `"$ref"`); len(reference.FindAllIndex(openAPI, -1)) != total {
		t.Error("a reference has another form than this test reads")
	}
	for kind, all := range d.Components {
		for name := range all {
			if kind != "securitySchemes" && !used[kind+"/"+name] {
				t.Errorf("%s/%s is there and not named", kind, name)
			}
		}
	}
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`"operationId": "([^"]+)"`).FindAllSubmatch(openAPI, -1) {
		if seen[string(found[1])] {
			t.Errorf("operationId %s comes twice", found[1])
		}
		seen[string(found[1])] = true
	}
}
