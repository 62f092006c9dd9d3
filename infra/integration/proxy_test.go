package integration_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// exchange is a request to DynamoDB on its way through a proxy.
type exchange struct {
	ctx     context.Context // of the caller's connection
	op      string          // the API operation, such as UpdateItem
	body    []byte
	forward func() *reply
}

// reply is what comes back. nil: the connection breaks instead.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// meeting decides about an exchange: it forwards it or not, and says what the caller
// gets.
type meeting func(x *exchange) *reply

// newProxy is a proxy in front of an endpoint; its address.
func newProxy(t *testing.T, endpoint string, meet meeting) string {
	t.Helper()
	client := &http.Client{Transport: newTransport(), Timeout: time.Minute}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller is gone
		}
		_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		answer := meet(&exchange{ctx: r.Context(), op: op, body: body, forward: func() *reply { return again(client, endpoint, r, body) }})
		if answer == nil {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.header)
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newTransport keeps as many connections as the races have requests at once.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return transport
}

// again makes a request once more, whoever made it first: it may have gone since.
func again(client *http.Client, endpoint string, r *http.Request, body []byte) *reply {
	req, err := http.NewRequest(r.Method, endpoint+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil
	}
	req.Header = r.Header.Clone()
	req.Header.Del("Accept-Encoding") // the answer is passed on as it is
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	return &reply{resp.StatusCode, resp.Header, text}
}
