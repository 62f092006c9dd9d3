package api

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// call is one request on its way through the door, in the frame of its binding.
type call struct {
	*door
	w     http.ResponseWriter
	r     *http.Request
	agent *Agent
	// named says that the address named the agent.
	named bool
	who   auth.Principal
	// rpc says that the binding is JSON-RPC; id is the request's, as it was sent.
	rpc bool
	id  []byte
	// name is the operation, for logs; beside says that it is none of A2A's.
	name   string
	beside bool
}

// refTo names a task of the caller's tenant.
func (c *call) refTo(id a2a.TaskID) lifecycle.Ref {
	return lifecycle.Ref{Tenant: c.who.Tenant, Task: id}
}

// blobURL is where the caller of a task of this agent fetches a blob.
func (c *call) blobURL(id a2a.TaskID) func(lifecycle.Digest) string {
	return func(d lifecycle.Digest) string { return blobAddress(c.base(), id, d) }
}

// base is the address of the agent's HTTP+JSON interface.
func (c *call) base() string {
	base := strings.TrimSuffix(c.BaseURL(c.r), "/")
	if c.agent != &c.Agents[0] {
		base += "/" + c.agent.Name
	}
	return base
}

// body reads the request's body into b, up to the limit.
func (c *call) body(b *bytes.Buffer) error {
	if kind := c.r.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || media != typeJSON && media != typeA2A {
			return refuse(errMediaType, "The request's Content-Type must be %s or %s.", typeJSON, typeA2A)
		}
	}
	if c.r.ContentLength > c.MaxRequestBytes {
		return c.tooLarge()
	}
	_, err := b.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, c.MaxRequestBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return c.tooLarge()
	}
	if err != nil {
		return refuse(a2a.ErrInvalidRequest, "The request's body ended early.")
	}
	return nil
}

func (c *call) tooLarge() error {
	return refuse(errTooLarge, "The request is larger than the limit of %d bytes. Send large parts as url parts.", c.MaxRequestBytes)
}

// known reads the head of a task that the caller may see through this agent.
func (c *call) known(id a2a.TaskID) (lifecycle.Head, error) {
	if id == "" || len(id) > lifecycle.MaxIDBytes {
		return lifecycle.Head{}, notFound(id)
	}
	h, err := c.Authority.Ledger.Head(c.r.Context(), c.refTo(id))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return h, notFound(id)
	case err != nil:
		return h, err
	case h.Agent != c.agent.Name || h.Expired(c.Now()):
		return h, notFound(id)
	}
	return h, nil
}

// whole is the task of a head, with its artifacts where there are any.
func (c *call) whole(ctx context.Context, h lifecycle.Head) (lifecycle.Task, error) {
	if h.Artifacts == 0 {
		return lifecycle.Task{Head: h}, nil
	}
	return c.Authority.Load(ctx, h.Ref())
}
