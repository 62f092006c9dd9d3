package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Media types of answers and of what is read.
const (
	typeJSON = "application/json"
	typeA2A  = "application/a2a+json"
)

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

// answer sends a result, or says why there is none.
func (c *call) answer(result any, err error) {
	b := takeBuffer()
	defer giveBuffer(b)
	if err == nil {
		err = c.frame(b, result)
	}
	if err != nil {
		c.refuse(err)
		return
	}
	c.write(http.StatusOK, b)
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
		b.WriteString("null")
	}
	b.Write(c.id)
	b.WriteString(`,"` + member + `":`)
}

// write sends a whole answer. It ends with the one line feed that a terminal wants.
func (c *call) write(status int, b *bytes.Buffer) {
	b.WriteByte('\n')
	h := c.w.Header()
	h.Set("Content-Type", c.contentType())
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(b.Bytes()) // a caller that went away is none of ours
}

// contentType is application/json on JSON-RPC (§9.1) and beside A2A, and
// application/a2a+json on HTTP+JSON (§11.1), unless the request does not accept
// that.
func (c *call) contentType() string {
	accept := c.r.Header.Get("Accept")
	if c.rpc || c.beside || accept != "" && !strings.Contains(accept, typeA2A) && !strings.Contains(accept, "*/*") && !strings.Contains(accept, "application/*") {
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
	if errors.Is(err, ledger.ErrNotFound) { // it was purged while the caller asked for it
		err = notFound("")
	}
	k := kindOf(err)
	info := errorInfo{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: k.reason, Domain: a2a.ProtocolDomain}
	st := status{Code: k.status, Status: k.rpc, Message: capital(k.err.Error())}
	var fields []violation
	if r, ok := errors.AsType[*refusal](err); ok && !k.fault {
		st.Message, fields = r.text, r.fields
		if printable(string(r.task)) && len(r.task) > 0 && len(r.task) <= lifecycle.MaxIDBytes {
			info.Metadata = map[string]string{"taskId": string(r.task)}
		}
	}
	if k.fault {
		if c.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
			return // the caller is gone, and that is all
		}
		incident := c.NewID()
		info.Metadata = map[string]string{"incident": incident}
		st.Message = "Something failed on our side. Its incident is " + incident + "."
		if k.status == http.StatusServiceUnavailable {
			st.Message = "The service is not available at the moment; try again. The incident is " + incident + "."
		}
		c.failed(lifecycle.Ref{Tenant: c.who.Tenant}, incident, err)
	}
	details := []any{info}
	if len(fields) > 0 {
		details = append(details, badRequest{"type.googleapis.com/google.rpc.BadRequest", fields})
	}
	c.complain(k, st, details)
}

// failed says once that a request met a fault.
func (c *call) failed(ref lifecycle.Ref, incident string, err error) {
	if c.Watch != nil {
		c.Watch.RequestFailed(c.r.Context(), ref, c.name, incident, err)
		return
	}
	c.Logger.LogAttrs(c.r.Context(), slog.LevelError, "request failed",
		slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task)), slog.String("incident", incident), slog.String("operation", c.name), slog.Any("error", err))
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
	b.Truncate(b.Len() - 1) // the encoder ends with a line feed
	b.WriteByte('}')
	switch code {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", c.Challenge)
	case http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", "1")
	}
	c.write(code, b)
}

// capital makes a sentence of an error's text.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }
