package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxPreludeBytes is how much may stand before the delimiter: API Gateway looks
	// for it in the first 16 KB, 8 of which it is.
	maxPreludeBytes = 16<<10 - 8
	// bufferBytes is how much is gathered before it leaves without a flush, as in
	// net/http.
	bufferBytes = 4 << 10
)

// perConnection are the headers that describe one connection, which is not ours.
var perConnection = []string{"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// writer is the handler's side of a response. Status and headers are settled by
// WriteHeader, and leave with the first byte that does.
type writer struct {
	method string
	header http.Header
	sent   http.Header // the headers as they were at WriteHeader
	status int         // 0 until WriteHeader
	gone   bool        // begun is closed
	begun  chan struct{}

	buffer  *bufio.Writer
	conn    net.Conn // to the body; it has deadlines, which an io.Pipe has not
	writeBy time.Time
	broken  *atomic.Bool // the body ends in an error
	logger  *slog.Logger
}

// newResponse makes the two sides of a response.
func newResponse(method string, writeBy time.Time, cancel context.CancelFunc, logger *slog.Logger) (*writer, *body) {
	near, far := net.Pipe()
	w := &writer{method: method, header: http.Header{}, begun: make(chan struct{}), conn: near, writeBy: writeBy, broken: new(atomic.Bool), logger: logger}
	w.buffer = bufio.NewWriterSize(sink{w}, bufferBytes)
	_ = near.SetWriteDeadline(writeBy)
	return w, &body{conn: far, cancel: cancel, broken: w.broken}
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status, w.sent = status, w.header.Clone()
	for _, name := range perConnection {
		w.sent.Del(name)
	}
	w.fit()
}

// fit replaces an answer whose headers API Gateway would not find the end of.
func (w *writer) fit() {
	prelude, err := json.Marshal(map[string]any{"statusCode": w.status, "multiValueHeaders": w.sent})
	if err != nil || len(prelude) <= maxPreludeBytes {
		return
	}
	w.logger.LogAttrs(context.Background(), slog.LevelError, "the answer's headers are too large", slog.Int("bytes", len(prelude)), slog.Int("limit", maxPreludeBytes))
	w.fault()
}

// fault makes the answer a plain 500.
func (w *writer) fault() {
	w.status = http.StatusInternalServerError
	w.sent = http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"}}
	w.buffer.Reset(sink{w})
	if w.method != http.MethodHead {
		_, _ = w.buffer.WriteString(http.StatusText(w.status) + "\n")
	}
	_ = w.buffer.Flush()
	w.buffer.Reset(io.Discard) // what the handler may still write belongs to another answer
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		if w.header.Get("Content-Type") == "" && len(p) > 0 {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.method == http.MethodHead:
		return len(p), nil
	}
	return w.buffer.Write(p)
}

// FlushError sends what was written so far, as http.ResponseController asks for.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	w.begin()
	return w.buffer.Flush()
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// SetWriteDeadline bounds how long a write may wait for the caller, as
// http.ResponseController asks for. The end of the invocation bounds it as well.
func (w *writer) SetWriteDeadline(at time.Time) error {
	if !w.writeBy.IsZero() && (at.IsZero() || at.After(w.writeBy)) {
		at = w.writeBy
	}
	return w.conn.SetWriteDeadline(at)
}

// begin lets status and headers leave.
func (w *writer) begin() {
	if !w.gone {
		w.gone = true
		close(w.begun)
	}
}

// end completes the response.
func (w *writer) end() {
	if err := w.FlushError(); err != nil {
		w.broken.Store(true)
	}
	_ = w.conn.Close()
}

// abort ends a response whose handler has failed.
func (w *writer) abort() {
	if w.gone {
		w.broken.Store(true)
	} else {
		w.fault()
		w.begin()
	}
	_ = w.conn.Close()
}

// sink is where the buffer goes when it leaves.
type sink struct{ *writer }

// Write implements io.Writer.
func (s sink) Write(p []byte) (int, error) {
	s.begin()
	return s.conn.Write(p)
}

// body is the runtime's side of a response. Bytes and the error that follows them
// come in separate reads: aws-lambda-go forgets the bytes of a read that also fails.
type body struct {
	conn   net.Conn
	cancel context.CancelFunc
	broken *atomic.Bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.conn.Read(p)
	switch {
	case n > 0:
		return n, nil
	case errors.Is(err, io.EOF) && b.broken.Load():
		return 0, ErrAborted
	}
	return 0, err
}

// Close ends the request's context, and fails the handler's next write.
func (b *body) Close() error {
	b.cancel()
	return b.conn.Close()
}
