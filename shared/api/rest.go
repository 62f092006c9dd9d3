package api

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// run runs an operation of HTTP+JSON (A2A §11) once its parameters were read.
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

// parameters reads them from the body, which may be empty where all of them may
// be absent.
func (c *call) parameters(read func(value) (request, error), required bool) (request, error) {
	b := takeBuffer()
	defer giveBuffer(b)
	if err := c.body(b); err != nil {
		return request{}, err
	}
	if b.Len() == 0 && !required {
		return request{}, nil
	}
	doc, err := document(b.Bytes())
	if err != nil {
		return request{}, refuse(a2a.ErrParseError, "Invalid JSON payload: %s.", err)
	}
	if !doc.object() {
		return request{}, refuse(a2a.ErrInvalidRequest, "The payload must be an object.")
	}
	return read(doc)
}

func (c *call) restSend(address) {
	q, err := c.parameters(sendParams, true)
	c.run(q, err, (*call).sendMessage)
}

func (c *call) restStream(address) {
	q, err := c.parameters(sendParams, true)
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
	q, err := c.parameters(at.params, false)
	q.id = at.task
	c.run(q, err, (*call).cancelTask)
}

// restSubscribe takes the parameters of a POST from its body and those of a GET
// from its query.
func (c *call) restSubscribe(at address) {
	q, err := taskQuery(c.r.URL.RawQuery, at.task)
	if err == nil && c.r.Method == http.MethodPost {
		q, err = c.parameters(at.params, false)
		q.id = at.task
	}
	c.run(q, err, (*call).subscribeToTask)
}

// params reads the body of a request whose task stood in the path.
func (at address) params(v value) (request, error) {
	return taskFields(v, at.task)
}

func (c *call) restWebhooks(at address) {
	if c.Push == nil { // §3.3.4
		c.refuse(noPush())
		return
	}
	if c.r.Method == http.MethodPost {
		q, err := c.parameters(func(v value) (request, error) { return createFields(v, at.task) }, true)
		c.run(q, err, (*call).createWebhook)
		return
	}
	q, err := pageQuery(c.r.URL.RawQuery, at.task)
	c.run(q, err, (*call).listWebhooks)
}

func (c *call) restWebhook(at address) {
	if c.Push == nil {
		c.refuse(noPush())
		return
	}
	q, err := pageQuery(c.r.URL.RawQuery, at.task)
	q.endpoint = at.item
	operation := (*call).getWebhook
	if c.r.Method == http.MethodDelete {
		operation = (*call).deleteWebhook
	}
	c.run(q, err, operation)
}

func (c *call) restExtendedCard(address) { c.run(request{}, nil, (*call).extendedCard) }
