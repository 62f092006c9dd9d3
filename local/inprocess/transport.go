// Package inprocess is a network without wires: requests go to a handler in the same
// process, for tests whose time is fake.
package inprocess

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// errBroken is what a client sees of a connection that broke before an answer.
var errBroken = errors.New("connection broken")

// Transport is an http.RoundTripper that hands requests to whichever handler there
// is. Answers stream; no handler, and one that aborts, is a broken connection; closing
// the body or ending the request's context is a client that went away.
type Transport func() http.Handler

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	handler := t()
	if handler == nil {
		return nil, errBroken
	}
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.RemoteAddr, in.RequestURI = "127.0.0.1:1", r.URL.RequestURI()
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	reader, writer := io.Pipe()
	w := &answer{header: http.Header{}, body: writer, begun: make(chan struct{})}
	go func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				w.fail()
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = writer.Close()
		}()
		handler.ServeHTTP(w, in)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		cancel()
		_ = reader.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	if w.broken {
		return nil, errBroken
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &body{reader, cancel}, ContentLength: -1, Request: r,
	}, nil
}

type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// answer is the handler's side of a response.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	status int
	sent   http.Header
	broken bool
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush implements http.Flusher: the pipe holds nothing back.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

func (a *answer) fail() {
	a.once.Do(func() {
		a.broken = true
		close(a.begun)
	})
	_ = a.body.CloseWithError(io.ErrUnexpectedEOF)
}
