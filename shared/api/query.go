package api

import (
	"net/url"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// taskQuery reads the parameters of GetTask and SubscribeToTask from a query
// (A2A §11.5). An empty parameter is the same as none.
func taskQuery(raw string, id a2a.TaskID) (request, error) {
	q := request{id: id}
	var r reader
	values, err := query(raw)
	if err != nil {
		return q, err
	}
	q.tenant = values.Get("tenant")
	q.history = r.history(r.decimal(values, "historyLength"), "historyLength")
	return q, r.err()
}

// pageQuery reads the parameters of what pages through a part of a task.
func pageQuery(raw string, id a2a.TaskID) (request, error) {
	q := request{id: id}
	var r reader
	values, err := query(raw)
	if err != nil {
		return q, err
	}
	q.tenant, q.pageToken = values.Get("tenant"), values.Get("pageToken")
	q.pageSize = r.pageSize(r.decimal(values, "pageSize"))
	return q, r.err()
}

// listQuery reads the parameters of ListTasks from a query.
func listQuery(raw string) (request, error) {
	var q request
	var r reader
	values, err := query(raw)
	if err != nil {
		return q, err
	}
	q.tenant = values.Get("tenant")
	q.contextID = values.Get("contextId")
	q.pageToken = values.Get("pageToken")
	if s := values.Get("status"); s != "" {
		q.state = r.state(s, "status")
	}
	q.pageSize = r.pageSize(r.decimal(values, "pageSize"))
	q.history = r.history(r.decimal(values, "historyLength"), "historyLength")
	// The official Go client (a2a-go v2.4.0) sends the filter under another name;
	// ignoring that would give it tasks that it did not ask for.
	for _, name := range []string{"statusTimestampAfter", "lastUpdatedAfter"} {
		if s := values.Get(name); s != "" && q.since.IsZero() {
			q.since = r.instant(s, name)
		}
	}
	switch s := values.Get("includeArtifacts"); s {
	case "", "false":
	case "true":
		q.artifacts = true
	default:
		r.wrong("includeArtifacts", "must be true or false")
	}
	return q, r.err()
}

func query(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse(a2a.ErrInvalidParams, "The query is not well-formed.")
	}
	for name, list := range values {
		if len(list) > 1 {
			return nil, refuse(a2a.ErrInvalidParams, "The query parameter %s comes %d times.", strconv.Quote(clip(name)), len(list))
		}
	}
	return values, nil
}

func (r *reader) decimal(values url.Values, name string) *int {
	s := values.Get(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		r.wrong(name, "must be an integer of 32 bits")
		return nil
	}
	return new(int(n))
}
