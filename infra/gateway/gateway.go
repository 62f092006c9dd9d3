// Package gateway is the plug between an API Gateway REST API and net/http: it
// turns a proxy event into an *http.Request, and what an http.Handler writes into
// a streamed response. It knows nothing of what is behind the handler.
//
// [Handler] streams every route (API Gateway, "Stream the integration response for your
// proxy integrations in API Gateway": Lambda proxy integrations): a server-sent event
// leaves when the handler flushes it. [Buffered] gathers the stream, where none can leave.
//
// For the handler it is like a net/http server, with these differences:
//
//   - The request's context also ends some time before the invocation does
//     ([Options.Reserve]), so that a stream ends by itself. A write that nobody takes
//     fails soon after.
//   - Nobody says that the caller has gone: the function writes on until it is done.
//   - Content-Length and the headers that belong to one connection are dropped: the
//     framing is API Gateway's. There are no trailers and no informational answers.
//   - A panic becomes a 500 for as long as nothing has left; afterwards the response is
//     aborted. The value of a panic is never logged, for it may hold what a caller sent.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// DefaultReserve is how long before the end of an invocation requests end: enough
// for a last event to pass a slow connection.
const DefaultReserve = 10 * time.Second

var (
	// errEvent: the function was not called by a REST API's proxy integration.
	errEvent = errors.New("gateway: the event is no API Gateway REST proxy request: connect the function to ANY / and ANY /{proxy+} of a REST API")
	// ErrAborted ends a response that the handler could not complete.
	ErrAborted = errors.New("gateway: the response was aborted")
)

// Options are what a handler may want otherwise.
type Options struct {
	// Reserve is kept free at the end of an invocation; zero takes DefaultReserve. An
	// invocation that is shorter than it has none.
	Reserve time.Duration
	// Logger gets panics and refused answers. nil drops them.
	Logger *slog.Logger
}

// Function is what lambda.Start takes.
type Function func(context.Context, events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error)

// Handler serves proxy events with an http.Handler. It returns when the handler has
// sent its first byte or ended; the response's body follows the handler from then on.
func Handler(h http.Handler, o Options) Function {
	if o.Reserve == 0 {
		o.Reserve = DefaultReserve
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
		if e.HTTPMethod == "" {
			return nil, errEvent
		}
		ctx, cancel, writeBy := within(ctx, o.Reserve)
		w, b := newResponse(e.HTTPMethod, writeBy, cancel, o.Logger)
		r, err := newRequest(ctx, e)
		serving := h
		if err != nil {
			serving = unreadable(err)
		}
		go serve(serving, w, r, o.Logger)
		<-w.begun
		return &events.APIGatewayProxyStreamingResponse{StatusCode: w.status, MultiValueHeaders: w.sent, Body: b}, nil
	}
}

// unreadable answers what is no request.
func unreadable(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "The request cannot be read: "+err.Error()+".", http.StatusBadRequest)
	})
}

// within ends the context a reserve before its deadline, and says by when what was
// written must be taken: half of the reserve is left for it.
func within(ctx context.Context, reserve time.Duration) (_ context.Context, _ context.CancelFunc, writeBy time.Time) {
	end, limited := ctx.Deadline()
	if !limited {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, time.Time{}
	}
	early, cancel := context.WithDeadline(ctx, end.Add(-reserve))
	if early.Err() == nil || ctx.Err() != nil {
		return early, cancel, end.Add(-reserve / 2)
	}
	cancel()
	whole, cancel := context.WithCancel(ctx)
	return whole, cancel, end
}

// serve runs the handler and ends the response.
func serve(h http.Handler, w *writer, r *http.Request, logger *slog.Logger) {
	failed := true
	defer func() {
		if failed {
			if value := recover(); value != http.ErrAbortHandler { //nolint:errorlint,err113 // net/http compares it so
				logger.LogAttrs(context.Background(), slog.LevelError, "handler panicked", slog.String("panic", describe(value)), slog.String("stack", string(debug.Stack())))
			}
			w.abort()
			return
		}
		w.end()
	}()
	h.ServeHTTP(w, r)
	failed = false
}

// describe names a panic without showing what may be the caller's.
func describe(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", value)
}
