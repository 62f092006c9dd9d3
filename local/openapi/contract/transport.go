package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Transport is next, with every answer held against the description on its way. What
// is wrong is reported; the answer goes on as it is.
func (c *Contract) Transport(next http.RoundTripper, report func(error)) http.RoundTripper {
	return &transport{c, next, report}
}

type transport struct {
	contract *Contract
	next     http.RoundTripper
	report   func(error)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	schema, media, err := t.contract.expect(r, resp.StatusCode, resp.Header)
	if err == nil && schema != nil && media == eventStream {
		resp.Body = &stream{ReadCloser: resp.Body, t: t, r: r, schema: schema}
		return resp, nil
	}
	if err != nil {
		t.wrong(r, resp.StatusCode, err)
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	resp.Body = &whole{bytes.NewReader(body), resp.Body}
	if err := t.contract.Check(r, resp.StatusCode, resp.Header, body); err != nil {
		t.report(err)
	}
	return resp, nil
}

func (t *transport) wrong(r *http.Request, status int, err error) {
	t.report(fmt.Errorf("%s %s: %d: %w", r.Method, r.URL.RequestURI(), status, err))
}

// whole is an answer that was read, and is to be read again.
type whole struct {
	*bytes.Reader

	body io.Closer
}

// Close implements io.Closer.
func (w *whole) Close() error { return w.body.Close() }

// stream checks each event when it has been read to its end.
type stream struct {
	io.ReadCloser

	t       *transport
	r       *http.Request
	schema  *jsonschema.Schema
	pending []byte
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.pending = append(s.pending, p[:n]...)
	for {
		block, rest, ended := bytes.Cut(s.pending, []byte("\n\n"))
		if !ended {
			return n, err
		}
		s.pending = rest
		if err := event(s.schema, string(block)); err != nil {
			s.t.wrong(s.r, http.StatusOK, err)
		}
	}
}
