package simulation_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/holdfast-a2a/holdfast/local/inprocess"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// errNetwork is what a client sees of a connection that broke, and of a server that
// does not answer.
var errNetwork = errors.New("the network is broken")

// network brings an actor's requests to a door.
type network struct{ w *world }

// RoundTrip implements http.RoundTripper. The request waits for its turn, and so does
// the answer: either can be lost. An answer that is no stream arrives whole or not at
// all.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	who, _ := ctx.Value(onBehalf{}).(string)
	what := r.Method + " " + r.URL.Path
	fault := n.w.schedule.wait(ctx, &turn{who: who, what: "request", about: what, may: onClients})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p := n.w.site.door(n.w.schedule.dice.Uint64())
	if fault == ledgertest.FailBefore || p == nil || p.server == nil || p.crash.Crashed() {
		return nil, errNetwork
	}
	living, cancel := p.living(ctx)
	resp, err := inprocess.Transport(func() http.Handler { return p.server }).RoundTrip(r.WithContext(living))
	if err == nil && p.crash.Crashed() {
		_ = resp.Body.Close()
		err = errNetwork
	}
	if err != nil {
		cancel()
		return nil, errors.Join(errNetwork, err)
	}
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		resp.Body = &stream{resp.Body, p, cancel}
		if fault == ledgertest.FailAfter {
			_ = resp.Body.Close()
			return nil, errNetwork
		}
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	cancel()
	if err != nil || p.crash.Crashed() || fault == ledgertest.FailAfter {
		return nil, errors.Join(errNetwork, err)
	}
	if n.w.schedule.wait(ctx, &turn{who: who, what: "answer", about: what, may: []ledgertest.Fault{ledgertest.FailBefore}}) != ledgertest.None {
		return nil, errNetwork
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// stream is an answer that goes on until its process dies.
type stream struct {
	io.ReadCloser

	p      *process
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if s.p.crash.Crashed() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.cancel()
	return s.ReadCloser.Close()
}

// posting brings a process's webhooks to their receivers.
type posting struct{ p *process }

// RoundTrip implements http.RoundTripper.
func (x *posting) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	var a received
	err = x.p.call(ctx, "post", r.URL.Path, onSends, func(f ledgertest.Fault) error {
		if f == ledgertest.FailBefore {
			return errNetwork
		}
		a = x.p.w.hooks.receive(r, body)
		if f == ledgertest.FailAfter {
			return errNetwork
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	header := http.Header{}
	if a.after != "" {
		header.Set("Retry-After", a.after)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: http.NoBody, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}
