package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// call is one request on its way through the door, in the frame of its binding.
type call struct {
	*door
	w     http.ResponseWriter
	r     *http.Request
	agent *Agent
	who   Principal
	// rpc says that the binding is JSON-RPC; id is the request's, as it was sent.
	rpc bool
	id  []byte
	// name is the operation, for logs.
	name string
}

const (
	typeJSON  = "application/json"
	typeA2A   = "application/a2a+json"
	nullID    = "null"
	maxRPCID  = 256 // bytes; it is repeated in every frame of a stream
	a2aDomain = a2a.ProtocolDomain
)

// ref names a task of the caller's tenant.
func (c *call) ref(id a2a.TaskID) lifecycle.Ref {
	return lifecycle.Ref{Tenant: c.who.Tenant, Task: id}
}

// blobURL is where the caller of a task of this agent fetches a blob.
func (c *call) blobURL(id a2a.TaskID) func(lifecycle.Digest) string {
	return func(d lifecycle.Digest) string {
		return c.base() + "/tasks/" + url.PathEscape(string(id)) + "/blobs/" + string(d)
	}
}

// base is the address of the agent's HTTP+JSON interface.
func (c *call) base() string {
	base := strings.TrimSuffix(c.BaseURL(c.r), "/")
	if c.agent != &c.Agents[0] {
		base += "/" + c.agent.Name
	}
	return base
}

// buffers hold a request's body or an answer while it is read or written.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBytes keeps a rare large body from staying in memory.
const maxPooledBytes = 64 << 10

func takeBuffer() *bytes.Buffer {
	b, _ := buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

func giveBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBytes {
		buffers.Put(b)
	}
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

// answer sends a result.
func (c *call) answer(result any) {
	b := takeBuffer()
	defer giveBuffer(b)
	if err := c.frame(b, result); err != nil {
		c.refuse(err)
		return
	}
	c.write(http.StatusOK, b.Bytes())
}

// frame appends a result in the frame of the binding, on one line.
func (c *call) frame(b *bytes.Buffer, result any) error {
	if c.rpc {
		c.openFrame(b, "result")
	}
	if err := json.NewEncoder(b).Encode(result); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder ends with a line feed
	if c.rpc {
		b.WriteByte('}')
	}
	return nil
}

func (c *call) openFrame(b *bytes.Buffer, member string) {
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	if c.id == nil {
		b.WriteString(nullID)
	}
	b.Write(c.id)
	b.WriteString(`,"` + member + `":`)
}

// write sends a whole answer.
func (c *call) write(status int, body []byte) {
	h := c.w.Header()
	h.Set("Content-Type", c.contentType())
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // a caller that went away is none of ours
}

// contentType is application/json on JSON-RPC (§9.1) and application/a2a+json on
// HTTP+JSON (§11.1), unless the request does not accept that.
func (c *call) contentType() string {
	accept := c.r.Header.Get("Accept")
	if c.rpc || accept != "" && !strings.Contains(accept, typeA2A) && !strings.Contains(accept, "*/*") && !strings.Contains(accept, "application/*") {
		return typeJSON
	}
	return typeA2A
}

// status is google.rpc.Status as HTTP+JSON shows it (§11.6); JSON-RPC has the
// same in other words (§9.5).
type status struct {
	Code    int    `json:"code"`
	Status  string `json:"status,omitempty"`
	Message string `json:"message"`
	Details []any  `json:"details,omitempty"`
	Data    []any  `json:"data,omitempty"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type badRequest struct {
	Type       string      `json:"@type"`
	Violations []violation `json:"fieldViolations"`
}

// refuse answers with an error. A fault of ours is logged under an incident, and
// the caller learns no more than that.
func (c *call) refuse(err error) {
	k := kindOf(err)
	info := errorInfo{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: k.reason, Domain: a2aDomain}
	st := status{Code: k.status, Status: k.rpc, Message: capital(k.err.Error())}
	var fields []violation
	if r, ok := errors.AsType[*refusal](err); ok && !k.fault {
		st.Message, fields = r.text, r.fields
		if printable(string(r.task)) && len(r.task) > 0 && len(r.task) <= lifecycle.MaxIDBytes {
			info.Metadata = map[string]string{"taskId": string(r.task)}
		}
	}
	if k.fault {
		if c.r.Context().Err() != nil {
			return // nobody is left to be answered
		}
		incident := c.NewID()
		info.Metadata = map[string]string{"incident": incident}
		st.Message = "Something failed on our side. Its incident is " + incident + "."
		if k.status == http.StatusServiceUnavailable {
			st.Message = "The service is not available at the moment; try again. The incident is " + incident + "."
		}
		c.Logger.LogAttrs(c.r.Context(), slog.LevelError, "request failed",
			slog.String("incident", incident), slog.String("operation", c.name), slog.Any("error", err))
	}
	details := []any{info}
	if len(fields) > 0 {
		details = append(details, badRequest{"type.googleapis.com/google.rpc.BadRequest", fields})
	}
	c.complain(k, st, details)
}

func (c *call) complain(k kind, st status, details []any) {
	b := takeBuffer()
	defer giveBuffer(b)
	code := k.status
	if c.rpc {
		st.Code, st.Status, st.Data = k.code, "", details
		c.openFrame(b, "error")
		if !k.outright {
			code = http.StatusOK
		}
	} else {
		st.Details = details
		b.WriteString(`{"error":`)
	}
	if err := json.NewEncoder(b).Encode(st); err != nil {
		c.w.WriteHeader(http.StatusInternalServerError)
		return
	}
	b.WriteByte('}')
	switch code {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", c.Challenge)
	case http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", "1")
	}
	c.write(code, b.Bytes())
}

// capital makes a sentence of an error's text.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// known reads the head of a task that the caller may see through this agent.
func (c *call) known(id a2a.TaskID) (lifecycle.Head, error) {
	if id == "" || len(id) > lifecycle.MaxIDBytes {
		return lifecycle.Head{}, notFound(id)
	}
	h, err := c.Authority.Ledger.Head(c.r.Context(), c.ref(id))
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
