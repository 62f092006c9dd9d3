package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Refusals that A2A has no error for.
var (
	errTooLarge        = errors.New("request too large")
	errMediaType       = errors.New("unsupported media type of the request")
	errMethod          = errors.New("method not allowed")
	errRoute           = errors.New("no such address")
	errOrigin          = errors.New("cross-origin request")
	errNotFound        = errors.New("not found")
	errKeyConflict     = errors.New("submission key conflict")
	errKeyExpired      = errors.New("submission key expired")
	errMessageConflict = errors.New("message conflict")
	errReceiptRequired = errors.New("authorization receipt required")
	errDelivering      = errors.New("delivery under way")
	errReceiptInvalid  = errors.New("authorization receipt invalid")
	errNotEnded        = errors.New("task has not ended")
	errReceiptMismatch = errors.New("terminal receipt mismatch")
)

// kind is what an error is in both bindings (A2A §5.4, §9.5, §11.6).
type kind struct {
	err    error
	code   int    // JSON-RPC
	status int    // HTTP
	rpc    string // google.rpc.Code
	reason string // of google.rpc.ErrorInfo
	// outright errors keep their HTTP status on JSON-RPC: the request was not read.
	outright bool
	// fault errors are ours: logged under an incident, and their text is not shown.
	fault bool
}

// kinds is the one table that gives errors their codes, most specific first: an
// error that wraps two of them is the earlier one, always.
var kinds = []kind{
	{err: auth.ErrUnauthenticated, code: -31401, status: 401, rpc: "UNAUTHENTICATED", reason: "UNAUTHENTICATED", outright: true},
	{err: auth.ErrForbidden, code: -31403, status: 403, rpc: "PERMISSION_DENIED", reason: "UNAUTHORIZED", outright: true},
	{err: errOrigin, code: -31403, status: 403, rpc: "PERMISSION_DENIED", reason: "CROSS_ORIGIN", outright: true},
	{err: errTooLarge, code: -32600, status: 413, rpc: "INVALID_ARGUMENT", reason: "REQUEST_TOO_LARGE", outright: true},
	{err: errMediaType, code: -32005, status: 415, rpc: "INVALID_ARGUMENT", reason: "UNSUPPORTED_MEDIA_TYPE", outright: true},
	{err: errMethod, code: -32600, status: 405, rpc: "UNIMPLEMENTED", reason: "METHOD_NOT_ALLOWED", outright: true},
	{err: errRoute, code: -32601, status: 404, rpc: "NOT_FOUND", reason: "METHOD_NOT_FOUND", outright: true},
	{err: a2a.ErrTaskNotFound, code: -32001, status: 404, rpc: "NOT_FOUND", reason: "TASK_NOT_FOUND"},
	{err: errNotFound, code: -32001, status: 404, rpc: "NOT_FOUND", reason: "NOT_FOUND"},
	{err: a2a.ErrTaskNotCancelable, code: -32002, status: 400, rpc: "FAILED_PRECONDITION", reason: "TASK_NOT_CANCELABLE"},
	{err: a2a.ErrPushNotificationNotSupported, code: -32003, status: 400, rpc: "FAILED_PRECONDITION", reason: "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	{err: a2a.ErrUnsupportedContentType, code: -32005, status: 400, rpc: "INVALID_ARGUMENT", reason: "CONTENT_TYPE_NOT_SUPPORTED"},
	{err: a2a.ErrInvalidAgentResponse, code: -32006, status: 500, rpc: "INTERNAL", reason: "INVALID_AGENT_RESPONSE", fault: true},
	{err: a2a.ErrExtendedCardNotConfigured, code: -32007, status: 400, rpc: "FAILED_PRECONDITION", reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	{err: a2a.ErrExtensionSupportRequired, code: -32008, status: 400, rpc: "FAILED_PRECONDITION", reason: "EXTENSION_SUPPORT_REQUIRED"},
	{err: a2a.ErrVersionNotSupported, code: -32009, status: 400, rpc: "FAILED_PRECONDITION", reason: "VERSION_NOT_SUPPORTED"},
	{err: a2a.ErrUnsupportedOperation, code: -32004, status: 400, rpc: "FAILED_PRECONDITION", reason: "UNSUPPORTED_OPERATION"},
	{err: errKeyConflict, code: -32602, status: 409, rpc: "ALREADY_EXISTS", reason: "SUBMISSION_KEY_CONFLICT"},
	{err: errKeyExpired, code: -32602, status: 409, rpc: "ALREADY_EXISTS", reason: "SUBMISSION_KEY_EXPIRED"},
	{err: errMessageConflict, code: -32602, status: 409, rpc: "ALREADY_EXISTS", reason: "MESSAGE_ID_CONFLICT"},
	{err: errReceiptRequired, code: -32602, status: 400, rpc: "INVALID_ARGUMENT", reason: "AUTHORIZATION_RECEIPT_REQUIRED"},
	{err: errReceiptInvalid, code: -32602, status: 400, rpc: "INVALID_ARGUMENT", reason: "AUTHORIZATION_RECEIPT_INVALID"},
	{err: errNotEnded, code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "TASK_NOT_ENDED"},
	{err: errReceiptMismatch, code: -32602, status: 409, rpc: "FAILED_PRECONDITION", reason: "RECEIPT_MISMATCH"},
	{err: errDelivering, code: -32004, status: 409, rpc: "ABORTED", reason: "DELIVERY_UNDER_WAY"},
	{err: eventRefusal(lifecycle.StaleSequence), code: -32004, status: 409, rpc: "ABORTED", reason: "STALE_SEQUENCE"},
	{err: eventRefusal(lifecycle.SequenceGap), code: -32004, status: 409, rpc: "ABORTED", reason: "SEQUENCE_GAP"},
	{err: eventRefusal(lifecycle.CoordinateGap), code: -32004, status: 409, rpc: "ABORTED", reason: "COORDINATE_GAP"},
	{err: eventRefusal(lifecycle.FenceLost), code: -32004, status: 409, rpc: "ABORTED", reason: "FENCE_LOST"},
	{err: eventRefusal(lifecycle.LeaseHeld), code: -32004, status: 409, rpc: "ABORTED", reason: "LEASE_HELD"},
	{err: eventRefusal(lifecycle.CancelPending), code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "CANCEL_REQUESTED"},
	{err: eventRefusal(lifecycle.PostTerminal), code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "POST_TERMINAL"},
	{err: eventRefusal(lifecycle.PauseExpired), code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "POST_TERMINAL"},
	{err: eventRefusal(lifecycle.IllegalTransition), code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "ILLEGAL_TRANSITION"},
	{err: eventRefusal(eventIDConflict), code: -32602, status: 409, rpc: "ALREADY_EXISTS", reason: "EVENT_ID_CONFLICT"},
	{err: eventRefusal(lifecycle.ConflictingContent), code: -32602, status: 409, rpc: "ALREADY_EXISTS", reason: "CONFLICTING_CONTENT"},
	{err: a2a.ErrParseError, code: -32700, status: 400, rpc: "INVALID_ARGUMENT", reason: "PARSE_ERROR"},
	{err: a2a.ErrInvalidRequest, code: -32600, status: 400, rpc: "INVALID_ARGUMENT", reason: "INVALID_REQUEST"},
	{err: a2a.ErrMethodNotFound, code: -32601, status: 501, rpc: "UNIMPLEMENTED", reason: "METHOD_NOT_FOUND"},
	{err: a2a.ErrInvalidParams, code: -32602, status: 400, rpc: "INVALID_ARGUMENT", reason: "INVALID_PARAMS"},
	{err: auth.ErrUnavailable, code: -32603, status: 503, rpc: "UNAVAILABLE", reason: "UNAVAILABLE", fault: true},
	{err: ledger.ErrActsFull, code: -32004, status: 409, rpc: "FAILED_PRECONDITION", reason: "OPERATOR_RECORD_FULL"},
	{err: ledger.ErrTooManyEndpoints, code: -32602, status: 400, rpc: "FAILED_PRECONDITION", reason: "TOO_MANY_PUSH_NOTIFICATION_CONFIGS"},
	{err: ledger.ErrUnavailable, code: -32603, status: 503, rpc: "UNAVAILABLE", reason: "UNAVAILABLE", fault: true},
	{err: ledger.ErrBusy, code: -32603, status: 503, rpc: "UNAVAILABLE", reason: "UNAVAILABLE", fault: true},
	{err: context.DeadlineExceeded, code: -32603, status: 503, rpc: "UNAVAILABLE", reason: "UNAVAILABLE", fault: true},
	{err: context.Canceled, code: -32603, status: 503, rpc: "UNAVAILABLE", reason: "UNAVAILABLE", fault: true},
}

// internal is what everything else is.
var internal = kind{err: a2a.ErrInternalError, code: -32603, status: 500, rpc: "INTERNAL", reason: "INTERNAL_ERROR", fault: true}

func kindOf(err error) kind {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k
		}
	}
	return internal
}

// refusal is an error whose text is meant for the caller. Other errors show the
// caller no more than their kind.
type refusal struct {
	err    error // an entry of kinds
	text   string
	fields []violation
	task   a2a.TaskID
}

func refuse(err error, format string, args ...any) *refusal {
	return &refusal{err: err, text: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Unwrap makes the kind known.
func (r *refusal) Unwrap() error { return r.err }

// notFound is the one answer for a task that does not exist, has expired, or
// belongs to somebody else (I10).
func notFound(task a2a.TaskID) *refusal {
	r := refuse(a2a.ErrTaskNotFound, "The task does not exist or is not accessible.")
	r.task = task
	return r
}
