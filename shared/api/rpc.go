package api

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// maxRPCID bounds a request's id, in bytes: every frame of a stream repeats it.
const maxRPCID = 256

// method is an operation under its JSON-RPC name (A2A §9.4).
type method struct {
	params func(value) (request, error)
	run    func(*call, request)
	// push says that it is about webhooks.
	push bool
}

// methods are the operations. Those that the card does not announce are known,
// and refused with the error that says so (§3.3.4).
var methods = map[string]method{
	"SendMessage":          {sendParams, (*call).sendMessage, false},
	"SendStreamingMessage": {sendParams, (*call).sendStreamingMessage, false},
	"GetTask":              {taskParams, (*call).getTask, false},
	"ListTasks":            {listParams, (*call).listTasks, false},
	"CancelTask":           {taskParams, (*call).cancelTask, false},
	"SubscribeToTask":      {taskParams, (*call).subscribeToTask, false},

	"CreateTaskPushNotificationConfig": {createParams, (*call).createWebhook, true},
	"GetTaskPushNotificationConfig":    {pushParams, (*call).getWebhook, true},
	"ListTaskPushNotificationConfigs":  {pushParams, (*call).listWebhooks, true},
	"DeleteTaskPushNotificationConfig": {pushParams, (*call).deleteWebhook, true},
	"GetExtendedAgentCard":             {otherParams, (*call).extendedCard, false},
}

// serveRPC reads a JSON-RPC request and runs its method (A2A §9).
func (c *call) serveRPC(address) {
	m, q, err := c.readRPC()
	c.run(q, err, m.run)
}

// readRPC reads the envelope, then the version, then the parameters: an error
// carries the id as soon as it is known.
func (c *call) readRPC() (method, request, error) {
	b := takeBuffer()
	defer giveBuffer(b)
	if err := c.body(b); err != nil {
		return method{}, request{}, err
	}
	doc, err := document(b.Bytes())
	if err != nil {
		return method{}, request{}, refuse(a2a.ErrParseError, "Invalid JSON payload: %s.", err)
	}
	if !doc.object() {
		return method{}, request{}, refuse(a2a.ErrInvalidRequest, "The payload must be one request object; batches are not supported.")
	}
	var version, id, name, params value
	doc.members(func(member string, v value) {
		switch member {
		case "jsonrpc":
			version = v
		case "id":
			id = v
		case "method":
			name = v
		case "params":
			params = v
		}
	})
	switch {
	case len(id) > maxRPCID:
		return method{}, request{}, refuse(a2a.ErrInvalidRequest, "The id has more than %d bytes.", maxRPCID)
	case id.string() || id.number():
		c.id = bytes.Clone(id)
	case !id.null():
		return method{}, request{}, refuse(a2a.ErrInvalidRequest, "The id must be a string, a number or null.")
	}
	if !version.string() || version.text() != "2.0" {
		return method{}, request{}, refuse(a2a.ErrInvalidRequest, `The member jsonrpc must be "2.0".`)
	}
	if !name.string() {
		return method{}, request{}, refuse(a2a.ErrInvalidRequest, "The member method must be a string.")
	}
	if err := c.version(); err != nil {
		return method{}, request{}, err
	}
	m, ok := methods[name.text()]
	if !ok {
		return method{}, request{}, refuse(a2a.ErrMethodNotFound, "The method does not exist.")
	}
	c.name = name.text()
	if m.push && c.Push == nil { // §3.3.4
		return method{}, request{}, noPush()
	}
	q, err := m.params(params)
	return m, q, err
}
