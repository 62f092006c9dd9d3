package api

import (
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// request is the parameters of any operation (A2A §3.1, §3.2), as both bindings
// read them. Which fields count is the operation's affair.
type request struct {
	tenant  string
	id      a2a.TaskID
	history *int // nil: unset (§3.2.4)

	// SendMessage, SendStreamingMessage
	message     *a2a.Message
	immediately bool
	webhook     *webhook // to be registered
	accepted    []string

	endpoint string // GetTaskPushNotificationConfig and the like
	from     *int   // replay: the sequence after which; nil: where it stands

	// ListTasks
	contextID string
	state     a2a.TaskState
	pageSize  *int
	pageToken string
	since     time.Time
	artifacts bool

	extension
}

// extension is what a request says under our extension's URI, in its own metadata
// or in its message's.
type extension struct {
	submissionKey string
	pause         *int
	after         cursor
	// authorization is a receipt; the message does not have it any more.
	authorization *string
}

// sendParams reads a SendMessageRequest (§3.2.1).
func sendParams(v value) (request, error) {
	var q request
	var r reader
	var metadata map[string]any
	r.fields(v, func(name string, v value) {
		switch name {
		case "tenant":
			q.tenant = r.text(v, name)
		case "message":
			q.message = r.message(v)
		case "metadata":
			metadata = r.object(v, name)
		case "configuration":
			r.configuration(v, &q)
		}
	})
	if q.message == nil {
		r.wrong("message", "is required")
	} else {
		r.extension(q.message.Metadata, "message.metadata", &q.extension)
		q.id = q.message.TaskID
	}
	r.extension(metadata, "metadata", &q.extension)
	return q, r.err()
}

// taskParams reads the requests that name a task: GetTask, CancelTask,
// SubscribeToTask.
func taskParams(v value) (request, error) { return taskFields(v, "") }

// taskFields reads them where the path may have named the task already.
func taskFields(v value, id a2a.TaskID) (request, error) {
	q := request{id: id}
	var r reader
	r.fields(v, func(name string, v value) {
		switch name {
		case "tenant":
			q.tenant = r.text(v, name)
		case "id":
			if id == "" {
				q.id = a2a.TaskID(r.text(v, name))
			}
		case "historyLength":
			q.history = r.history(r.integer(v, name), name)
		case "metadata":
			r.extension(r.object(v, name), name, &q.extension)
		}
	})
	if q.id == "" && len(r.violations) == 0 {
		r.wrong("id", "is required")
	}
	return q, r.err()
}

// listParams reads a ListTasksRequest (§3.1.4).
func listParams(v value) (request, error) {
	var q request
	var r reader
	r.fields(v, func(name string, v value) {
		switch name {
		case "tenant":
			q.tenant = r.text(v, name)
		case "contextId":
			q.contextID = r.text(v, name)
		case "status":
			q.state = r.state(r.text(v, name), name)
		case "pageSize":
			q.pageSize = r.pageSize(r.integer(v, name))
		case "pageToken":
			q.pageToken = r.text(v, name)
		case "historyLength":
			q.history = r.history(r.integer(v, name), name)
		case "statusTimestampAfter":
			q.since = r.instant(r.text(v, name), name)
		case "includeArtifacts":
			q.artifacts = r.flag(v, name)
		}
	})
	return q, r.err()
}

// otherParams reads what requests of unsupported operations have in common.
func otherParams(v value) (request, error) {
	var q request
	var r reader
	r.fields(v, func(name string, v value) {
		if name == "tenant" {
			q.tenant = r.text(v, name)
		}
	})
	return q, r.err()
}

// fields visits the fields of a parameter object that are present: null is the
// same as absent, and what is not known is ignored (§5.7). Names are written in
// camel case (§5.5); those of the proto are read as well, as every parser of
// ProtoJSON does.
func (r *reader) fields(v value, visit func(name string, v value)) {
	switch {
	case v.null():
	case !v.object():
		r.wrong("params", "must be an object")
	default:
		v.members(func(name string, v value) {
			if !v.null() {
				visit(camel(name), v)
			}
		})
	}
}

// camel is a field's name in JSON.
func camel(name string) string {
	if strings.IndexByte(name, '_') < 0 {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

func (r *reader) pageSize(n *int) *int {
	if n != nil && (*n < 1 || *n > maxPageSize) {
		r.wrong("pageSize", "must be between 1 and %d", maxPageSize)
	}
	return n
}

func (r *reader) configuration(v value, q *request) {
	if !v.object() {
		r.wrong("configuration", "must be an object")
		return
	}
	r.fields(v, func(name string, v value) {
		field := "configuration." + name
		switch name {
		case "returnImmediately":
			q.immediately = r.flag(v, field)
		case "historyLength":
			q.history = r.history(r.integer(v, field), field)
		case "acceptedOutputModes":
			q.accepted = r.texts(v, field)
		case "taskPushNotificationConfig":
			q.webhook = r.webhook(v, field+".", "")
		}
	})
}

// extension reads our extension's object; what is there already stays.
func (r *reader) extension(metadata map[string]any, field string, e *extension) {
	own, ok := metadata[lifecycle.ExtensionURI]
	if !ok || own == nil {
		return
	}
	field += "." + lifecycle.ExtensionURI
	object, ok := own.(map[string]any)
	if !ok {
		r.wrong(field, "must be an object")
		return
	}
	r.authorization(metadata, object, field+".authorization", e)
	switch key := object["submissionKey"].(type) {
	case nil:
	case string:
		e.submissionKey = key
		r.name(key, field+".submissionKey", lifecycle.MaxKeyBytes)
	default:
		r.wrong(field+".submissionKey", "must be a string")
	}
	switch pause := object["pause"].(type) {
	case nil:
	case float64:
		if e.pause = new(int(pause)); float64(*e.pause) != pause || pause < 1 {
			r.wrong(field+".pause", "must be the number of a pause")
		}
	default:
		r.wrong(field+".pause", "must be the number of a pause")
	}
	r.after(object["after"], field+".after", &e.after)
	r.chunks(object["artifacts"], field+".artifacts", &e.after)
}
