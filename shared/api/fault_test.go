package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// wanted is an error in both bindings.
type wanted struct {
	reason string
	code   int    // JSON-RPC
	rpc    int    // HTTP status on JSON-RPC
	status int    // HTTP status on HTTP+JSON
	google string // google.rpc.Code
}

// The table of §5.4, §9.5 and §11.6, and our own additions.
var (
	taskNotFound         = wanted{"TASK_NOT_FOUND", -32001, 200, 404, "NOT_FOUND"}
	taskNotCancelable    = wanted{"TASK_NOT_CANCELABLE", -32002, 200, 400, "FAILED_PRECONDITION"}
	noPush               = wanted{"PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 200, 400, "FAILED_PRECONDITION"}
	unsupportedOperation = wanted{"UNSUPPORTED_OPERATION", -32004, 200, 400, "FAILED_PRECONDITION"}
	noContentType        = wanted{"CONTENT_TYPE_NOT_SUPPORTED", -32005, 200, 400, "INVALID_ARGUMENT"}
	noVersion            = wanted{"VERSION_NOT_SUPPORTED", -32009, 200, 400, "FAILED_PRECONDITION"}
	invalidParams        = wanted{"INVALID_PARAMS", -32602, 200, 400, "INVALID_ARGUMENT"}
	keyConflict          = wanted{"SUBMISSION_KEY_CONFLICT", -32602, 200, 409, "ALREADY_EXISTS"}
	messageConflict      = wanted{"MESSAGE_ID_CONFLICT", -32602, 200, 409, "ALREADY_EXISTS"}
	unauthenticated      = wanted{"UNAUTHENTICATED", -31401, 401, 401, "UNAUTHENTICATED"}
	unauthorized         = wanted{"UNAUTHORIZED", -31403, 403, 403, "PERMISSION_DENIED"}
	tooLarge             = wanted{"REQUEST_TOO_LARGE", -32600, 413, 413, "INVALID_ARGUMENT"}
	mediaType            = wanted{"UNSUPPORTED_MEDIA_TYPE", -32005, 415, 415, "INVALID_ARGUMENT"}
	internalError        = wanted{"INTERNAL_ERROR", -32603, 200, 500, "INTERNAL"}
	unavailable          = wanted{"UNAVAILABLE", -32603, 200, 503, "UNAVAILABLE"}
)

// hold compares an answer with what is wanted, down to the media type.
func (want wanted) hold(t *testing.T, c client, a answer) {
	t.Helper()
	if a.err == nil {
		t.Fatalf("status %d, %.300s, want %s", a.status, a.raw, want.reason)
	}
	code, status, google, kind := want.status, want.status, want.google, "application/a2a+json"
	if c.rpc {
		code, status, google, kind = want.code, want.rpc, "", "application/json"
	}
	if a.err.code != code || a.status != status || a.err.status != google || a.err.reason != want.reason {
		t.Errorf("status %d, %.400s, want %+v", a.status, a.raw, want)
	}
	if a.err.domain != "a2a-protocol.org" || a.err.message == "" || a.header.Get("Content-Type") != kind {
		t.Errorf("domain %q, message %q, Content-Type %q", a.err.domain, a.err.message, a.header.Get("Content-Type"))
	}
	if c.rpc && !strings.HasPrefix(string(a.raw), `{"jsonrpc":"2.0","id":`) {
		t.Errorf("frame %.60s", a.raw)
	}
}

// §3.3.2, case 71: every error of every operation, on both bindings, by a suite of our
// own: the compatibility kit accepts any error in places.
func TestErrorTable(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		done := c.submit(message("m-1", "do it"))
		w.must(done, grant(), complete())
		waiting := c.submit(message("m-2", "do it"))
		w.must(waiting, grant(), pause(lifecycle.InputRequired, true))
		c.with("Idempotency-Key", "K").submit(message("m-3", "do it"))
		named := with(replying(waiting, "m-4", "yes"), object{"metadata": extension(object{"pause": 1})})
		c.submit(named)
		big := strings.Repeat("x", api.DefaultMaxRequestBytes)
		for _, tt := range []struct {
			what, operation string
			params          object
			client          client
			want            wanted
		}{
			{"unknown task", "GetTask", object{"id": "none"}, c, taskNotFound},
			{"unknown task", "CancelTask", object{"id": "none"}, c, taskNotFound},
			{"unknown task", "SubscribeToTask", object{"id": "none"}, c, taskNotFound},
			{"unknown task", "SendMessage", object{"message": replying("none", "m", "x")}, c, taskNotFound},
			{"unknown task", "SendStreamingMessage", object{"message": replying("none", "m", "x")}, c, taskNotFound},
			{"long task", "GetTask", object{"id": strings.Repeat("x", 129)}, c, taskNotFound},
			{"foreign task", "GetTask", object{"id": done}, c.with("Authorization", "Bearer b/x"), taskNotFound},
			{"ended", "CancelTask", object{"id": done}, c, taskNotCancelable},
			{"ended", "SubscribeToTask", object{"id": done}, c, unsupportedOperation},
			{"ended", "SendMessage", object{"message": replying(done, "m", "x")}, c, unsupportedOperation},
			{"ended", "SendStreamingMessage", object{"message": replying(done, "m", "x")}, c, unsupportedOperation},
			{"no extended card", "GetExtendedAgentCard", object{}, c, unsupportedOperation},
			{"no push", "CreateTaskPushNotificationConfig", object{"taskId": done, "id": "c"}, c, noPush},
			{"no push", "GetTaskPushNotificationConfig", object{"taskId": done, "id": "c"}, c, noPush},
			{"no push", "ListTaskPushNotificationConfigs", object{"taskId": done}, c, noPush},
			{"no push", "DeleteTaskPushNotificationConfig", object{"taskId": done, "id": "c"}, c, noPush},
			{"no push in line", "SendMessage", object{"message": message("m", "x"), "configuration": object{"taskPushNotificationConfig": object{"url": "http://x"}}}, c, noPush},
			{"picture", "SendMessage", object{"message": object{"messageId": "m", "role": "ROLE_USER", "parts": []any{object{"raw": "", "mediaType": "image/png"}}}}, c.at("keyed"), noContentType},
			{"agent's check", "SendMessage", object{"message": message("m", "a recipe")}, c.at("keyed"), invalidParams},
			{"key", "SendMessage", object{"message": message("m-3", "not it")}, c.with("Idempotency-Key", "K"), keyConflict},
			{"key, streaming", "SendStreamingMessage", object{"message": message("m-3", "not it")}, c.with("Idempotency-Key", "K"), keyConflict},
			{"message", "SendMessage", object{"message": with(named, object{"parts": []any{object{"text": "no"}}})}, c, messageConflict},
			{"no version", "GetTask", object{"id": done}, c.with("A2A-Version", ""), noVersion},
			{"old version", "SendStreamingMessage", object{"message": message("m", "x")}, c.with("A2A-Version", "0.3"), noVersion},
			{"who", "GetTask", object{"id": done}, c.with("Authorization", "Bearer bad/secret-1"), unauthenticated},
			{"may not", "SubscribeToTask", object{"id": done}, c.with("Authorization", "Bearer forbidden/secret-1"), unauthorized},
			{"size", "SendMessage", object{"message": message("m", big)}, c, tooLarge},
			{"size", "SendStreamingMessage", object{"message": message("m", big)}, c, tooLarge},
			{"form", "SendMessage", object{"message": message("m", "x")}, c.with("Content-Type", "application/x-www-form-urlencoded"), mediaType},
			{"form", "SendMessage", object{"message": message("m", "x")}, c.with("Content-Type", "text/plain"), mediaType},
			{"page", "ListTasks", object{"pageSize": 0}, c, invalidParams},
			{"no message", "SendMessage", object{}, c, invalidParams},
			{"tenant", "SendMessage", object{"message": message("m", "x"), "tenant": "nobody"}, c, invalidParams},
			{"tenant against path", "SendMessage", object{"message": message("m", "x"), "tenant": "first"}, c.at("keyed"), invalidParams},
		} {
			t.Run(tt.what+", "+tt.operation, func(t *testing.T) {
				tt.want.hold(t, tt.client, tt.client.call(tt.operation, tt.params))
			})
		}
		if n := w.count(); n != 3 {
			t.Errorf("%d tasks: an error wrote one", n)
		}
	})
}

// §3.3.2: what a 401 must say; the limit in a 413.
func TestErrorsSayWhatToDo(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		a := c.with("Authorization", "Bearer bad/x").call("GetTask", object{"id": "x"})
		if a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("WWW-Authenticate %q", a.header.Get("WWW-Authenticate"))
		}
		large := c.call("SendMessage", object{"message": message("m", strings.Repeat("x", 5<<20))})
		if !strings.Contains(large.err.message, "4194304 bytes") {
			t.Errorf("message %q", large.err.message)
		}
		if v := c.with("A2A-Version", "2.0").call("GetTask", object{"id": "x"}); !strings.Contains(v.err.message, "A2A-Version: 1.0") {
			t.Errorf("message %q", v.err.message)
		}
	})
}

// A body of unknown length is measured while it is read.
func TestTooLargeWithoutLength(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		r := c.request(t.Context(), "SendMessage", object{"message": message("m", strings.Repeat("x", 5<<20))})
		r.ContentLength = -1
		tooLarge.hold(t, c, c.send(r))
	})
}

// sick is a ledger whose reads or writes fail.
type sick struct {
	*ledgertest.Memory
	read, write error
}

func (s sick) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	if s.read != nil {
		return lifecycle.Head{}, s.read
	}
	return s.Memory.Head(ctx, ref)
}

func (s sick) Create(ctx context.Context, c ledger.Creation) error {
	if s.write != nil {
		return s.write
	}
	return s.Memory.Create(ctx, c)
}

// A fault of ours shows the caller an incident, and the log the rest.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want wanted
	}{
		{errors.New("disk /dev/sda1 of tenant b is full"), internalError},
		{fmt.Errorf("shard 7: %w", ledger.ErrUnavailable), unavailable},
		{ledger.ErrBusy, unavailable},
		{context.DeadlineExceeded, unavailable},
	} {
		ill := func(w *world) { w.authority.Ledger = sick{w.ledger, tt.err, tt.err} }
		both(t, []func(*world){ill}, func(w *world, c client) {
			t := w.t
			for operation, params := range map[string]object{"GetTask": {"id": "x"}, "SendMessage": {"message": message("m", "x")}, "SendStreamingMessage": {"message": message("m", "x")}} {
				a := c.call(operation, params)
				tt.want.hold(t, c, a)
				incident, _ := a.err.meta["incident"].(string)
				if incident == "" || !strings.Contains(a.err.message, incident) || strings.Contains(string(a.raw), tt.err.Error()) {
					t.Errorf("%s: %s", operation, a.raw)
				}
				if log := w.logged(); !strings.Contains(log, incident) || !strings.Contains(log, tt.err.Error()) || !strings.Contains(log, operation) {
					t.Errorf("log %s", log)
				}
				if !c.rpc && a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "" {
					t.Error("no Retry-After")
				}
			}
		})
	}
}

// I9: credentials, queries and keys appear in no error and no log.
func TestRedaction(t *testing.T) {
	ill := func(w *world) { w.authority.Ledger = sick{w.ledger, nil, errors.New("no disk")} }
	both(t, []func(*world){ill}, func(w *world, c client) {
		t := w.t
		const secret = "s3cr3t-value"
		c = c.with("Authorization", "Bearer local/"+secret).with("Idempotency-Key", secret).with("Cookie", secret).with("A2A-Version", "1.0")
		for _, r := range []*http.Request{
			c.request(t.Context(), "SendMessage", object{"message": message("m", "x")}),
			c.with("Authorization", "Bearer bad/"+secret).request(t.Context(), "GetTask", object{"id": "x"}),
			c.with("Authorization", "Bearer forbidden/"+secret).request(t.Context(), "GetTask", object{"id": "x"}),
			c.with("A2A-Version", secret).request(t.Context(), "GetTask", object{"id": "x"}),
			c.with("Content-Type", secret).request(t.Context(), "SendMessage", object{"message": message("m", "x")}),
			c.with("Last-Event-ID", secret).request(t.Context(), "SubscribeToTask", object{"id": "x"}),
			c.with("Origin", "https://"+secret).request(t.Context(), "SendMessage", object{"message": message("m", "x")}),
			c.raw(t.Context(), "GET", "/tasks?pageToken="+secret+"&access_token="+secret, ""),
			c.raw(t.Context(), "GET", "/tasks?status="+secret, ""),
			c.raw(t.Context(), "GET", "/tasks?%zz="+secret, ""),
			c.raw(t.Context(), "GET", "/"+secret, ""),
			c.raw(t.Context(), "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"`+secret+`"}`),
			c.raw(t.Context(), "POST", "/message:send", `{"`+secret),
		} {
			a := c.send(r)
			if a.err == nil || strings.Contains(string(a.raw), secret) {
				t.Errorf("%s %s: %s", r.Method, r.URL.Path, a.raw)
			}
		}
		if strings.Contains(w.logged(), secret) || !strings.Contains(w.logged(), "no disk") {
			t.Errorf("log %s", w.logged())
		}
	})
}

// Browsers of other sites cannot make a caller's browser ask for anything.
func TestCrossOriginIsRefused(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		other := c.with("Sec-Fetch-Site", "cross-site").with("Origin", "https://example.com")
		a := other.call("SendMessage", object{"message": message("m", "x")})
		if a.err == nil || a.err.reason != "CROSS_ORIGIN" || a.status != http.StatusForbidden || w.count() != 0 {
			t.Errorf("%.300s", a.raw)
		}
		c.with("Sec-Fetch-Site", "same-origin").submit(message("m", "x"))
	})
}
