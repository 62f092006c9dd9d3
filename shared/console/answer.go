package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var (
	errNoRoute   = errors.New("no such address")
	errMethod    = errors.New("method not allowed")
	errOrigin    = errors.New("cross-origin request")
	errInvalid   = errors.New("invalid request")
	errMediaType = errors.New("unsupported media type")
	errTooLarge  = errors.New("request too large")
	errNotNow    = errors.New("not possible now")
)

// kind is what an error is to the page.
type kind struct {
	err    error
	status int
	reason string
	// fault errors are ours: logged under an incident, and their text is not shown.
	fault bool
}

// kinds gives errors their codes, most specific first.
var kinds = []kind{
	{err: auth.ErrUnauthenticated, status: http.StatusUnauthorized, reason: "UNAUTHENTICATED"},
	{err: auth.ErrForbidden, status: http.StatusForbidden, reason: "FORBIDDEN"},
	{err: errOrigin, status: http.StatusForbidden, reason: "CROSS_ORIGIN"},
	{err: errNoRoute, status: http.StatusNotFound, reason: "NOT_FOUND"},
	{err: errMethod, status: http.StatusMethodNotAllowed, reason: "METHOD_NOT_ALLOWED"},
	{err: errMediaType, status: http.StatusUnsupportedMediaType, reason: "MEDIA_TYPE"},
	{err: errTooLarge, status: http.StatusRequestEntityTooLarge, reason: "TOO_LARGE"},
	{err: errInvalid, status: http.StatusBadRequest, reason: "INVALID"},
	{err: errNotNow, status: http.StatusConflict, reason: "NOT_NOW"},
	{err: ledger.ErrEffectChanged, status: http.StatusConflict, reason: "CHANGED"},
	{err: ledger.ErrDeliveryChanged, status: http.StatusConflict, reason: "UNDER_WAY"},
	{err: ledger.ErrActsFull, status: http.StatusConflict, reason: "RECORD_FULL"},
	{err: ledger.ErrNotFound, status: http.StatusNotFound, reason: "NOT_FOUND"},
	{err: auth.ErrUnavailable, status: http.StatusServiceUnavailable, reason: "UNAVAILABLE", fault: true},
	{err: ledger.ErrUnavailable, status: http.StatusServiceUnavailable, reason: "UNAVAILABLE", fault: true},
	{err: ledger.ErrBusy, status: http.StatusServiceUnavailable, reason: "UNAVAILABLE", fault: true},
	{err: context.DeadlineExceeded, status: http.StatusServiceUnavailable, reason: "UNAVAILABLE", fault: true},
	{err: context.Canceled, status: http.StatusServiceUnavailable, reason: "UNAVAILABLE", fault: true},
}

func kindOf(err error) kind {
	if r, rejected := errors.AsType[*lifecycle.Rejection](err); rejected {
		reason := "REFUSED"
		if r.Reason == lifecycle.Superseded {
			reason = "SUPERSEDED"
		}
		return kind{err: err, status: http.StatusConflict, reason: reason}
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k
		}
	}
	return kind{err: err, status: http.StatusInternalServerError, reason: "INTERNAL", fault: true}
}

// refusal is an error whose text is meant for the operator.
type refusal struct {
	err  error // of kinds
	text string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Unwrap makes the kind known.
func (r *refusal) Unwrap() error { return r.err }

func refuse(err error, format string, args ...any) *refusal {
	return &refusal{err, fmt.Sprintf(format, args...)}
}

// problem is an error as the page gets it.
type problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// explain says an error to the operator. What is ours is logged under an incident.
func (c *call) explain(err error) (kind, problem) {
	k := kindOf(err)
	p := problem{k.reason, ""}
	if r, is := errors.AsType[*refusal](err); is {
		p.Message = r.text
		return k, p
	}
	if r, is := errors.AsType[*lifecycle.Rejection](err); is {
		if p.Message = "The rules do not allow it: " + r.Detail + "."; r.Reason == lifecycle.Superseded {
			p.Message = "Another execution has taken over since you looked, " + r.Detail + ": look again."
		}
		return k, p
	}
	switch {
	case k.fault:
		incident := c.NewID()
		p.Message = "Something failed on our side. Its incident is " + incident + "."
		c.failed(incident, err)
	case errors.Is(err, ledger.ErrEffectChanged):
		p.Message = "The effect has changed since you looked: look again."
	case errors.Is(err, ledger.ErrDeliveryChanged):
		p.Message = "A delivery to this webhook is under way: wait for it, and look again."
	case errors.Is(err, ledger.ErrActsFull):
		p.Message = "The task's record of operators' actions has no place left for another one of these, so it was not done."
	case errors.Is(err, ledger.ErrNotFound):
		p.Message = "There is no such task, or no such part of it, in this tenant."
	case errors.Is(err, auth.ErrUnauthenticated):
		p.Message = "Sign in with a key or token that has the scope operator:read."
	default:
		p.Message = "Refused."
	}
	return k, p
}

// failed says once that something failed on our side.
func (c *call) failed(incident string, err error) {
	if c.Watch != nil {
		ref := lifecycle.Ref{Tenant: c.who.Tenant}
		if c.found {
			ref = c.ref()
		}
		c.Watch.RequestFailed(c.ctx(), ref, "console "+c.name, incident, err)
		return
	}
	c.Logger.LogAttrs(c.ctx(), slog.LevelError, "the console failed",
		slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.String("incident", incident), slog.String("operation", c.name), slog.Any("error", err))
}

// refuse answers with an error.
func (c *call) refuse(err error) {
	if c.ctx().Err() != nil && errors.Is(err, context.Canceled) {
		return // whoever asked is gone
	}
	k, p := c.explain(err)
	switch k.status {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", "1")
	}
	c.send(k.status, struct {
		Error problem `json:"error"`
	}{p})
}

func (c *call) send(status int, out any) {
	body, err := json.Marshal(out)
	if err != nil {
		c.Logger.LogAttrs(c.ctx(), slog.LevelError, "an answer of the console cannot be written", slog.String("operation", c.name), slog.Any("error", err))
		status, body = http.StatusInternalServerError, []byte(`{"error":{"reason":"INTERNAL","message":"Something failed on our side."}}`)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(body, '\n')) // whoever went away is none of ours
}
