package api

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// run runs an operation once its parameters were read.
func (c *call) run(q request, err error, operation func(*call, request)) {
	if err == nil {
		err = c.choose(q.tenant)
	}
	if err == nil {
		err = c.activate()
	}
	if err != nil {
		c.refuse(err)
		return
	}
	operation(c, q)
}

// parameters reads those of a request from its body, which may be empty where all of
// them may be absent.
func parameters[T any](c *call, read func(value) (T, error), required bool) (none T, err error) {
	b := takeBuffer()
	defer giveBuffer(b)
	if err := c.body(b); err != nil || b.Len() == 0 && !required {
		return none, err
	}
	doc, err := document(b.Bytes())
	if err != nil {
		return none, refuse(a2a.ErrParseError, "Invalid JSON payload: %s.", err)
	}
	if !doc.object() {
		return none, refuse(a2a.ErrInvalidRequest, "The payload must be an object.")
	}
	return read(doc)
}

func (c *call) restSend(address) {
	q, err := parameters(c, sendParams, true)
	c.run(q, err, (*call).sendMessage)
}

func (c *call) restStream(address) {
	q, err := parameters(c, sendParams, true)
	c.run(q, err, (*call).sendStreamingMessage)
}

func (c *call) restGet(at address) {
	q, err := taskQuery(c.r.URL.RawQuery, at.task)
	c.run(q, err, (*call).getTask)
}

func (c *call) restList(address) {
	q, err := listQuery(c.r.URL.RawQuery)
	c.run(q, err, (*call).listTasks)
}

func (c *call) restCancel(at address) {
	q, err := parameters(c, at.params, false)
	q.id = at.task
	c.run(q, err, (*call).cancelTask)
}

// restSubscribe takes the parameters of a POST from its body and those of a GET
// from its query.
func (c *call) restSubscribe(at address) {
	q, err := taskQuery(c.r.URL.RawQuery, at.task)
	if err == nil && c.r.Method == http.MethodPost {
		q, err = parameters(c, at.params, false)
		q.id = at.task
	}
	c.run(q, err, (*call).subscribeToTask)
}

// params reads the body of a request whose task stood in the path.
func (at address) params(v value) (request, error) {
	return taskFields(v, at.task)
}

func (c *call) restWebhooks(at address) {
	if c.r.Method == http.MethodPost {
		q, err := parameters(c, func(v value) (request, error) { return createFields(v, at.task) }, true)
		c.run(q, err, (*call).createWebhook)
		return
	}
	q, err := pageQuery(c.r.URL.RawQuery, at.task)
	c.run(q, err, (*call).listWebhooks)
}

func (c *call) restWebhook(at address) {
	q, err := pageQuery(c.r.URL.RawQuery, at.task)
	q.endpoint = at.item
	operation := (*call).getWebhook
	if c.r.Method == http.MethodDelete {
		operation = (*call).deleteWebhook
	}
	c.run(q, err, operation)
}

func (c *call) restExtendedCard(address) { c.run(request{}, nil, (*call).extendedCard) }
