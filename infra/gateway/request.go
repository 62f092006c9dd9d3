package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
)

// baseKey is where a request's context keeps the address of the API's root.
type baseKey struct{}

// BaseURL is the address under which the caller reaches the root of the API, without
// a trailing slash: with the stage of a default address, or with the base path of a
// custom domain. It is empty for a request that did not come through a [Handler].
func BaseURL(r *http.Request) string {
	base, _ := r.Context().Value(baseKey{}).(string)
	return base
}

// newRequest makes the request that an http.Server would have made of what reached
// API Gateway.
func newRequest(ctx context.Context, e events.APIGatewayProxyRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, errors.New("its body is not base64")
		}
	}
	header := headersOf(e)
	host := header.Get("Host")
	if host == "" {
		host = e.RequestContext.DomainName
	}
	header.Del("Host")
	header.Del("Transfer-Encoding")
	scheme := "https"
	if header.Get("X-Forwarded-Proto") == "http" {
		scheme = "http"
	}
	base, path := split(e)
	ctx = context.WithValue(ctx, baseKey{}, scheme+"://"+host+base)
	r, err := http.NewRequestWithContext(ctx, e.HTTPMethod, "/", bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its method is no HTTP method")
	}
	r.GetBody = nil // for clients
	r.URL = locate(path)
	r.URL.RawQuery = queryOf(e).Encode()
	r.RequestURI = r.URL.RequestURI()
	r.Host = host
	r.Header = header
	if header.Get("Content-Length") != "" {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if ip := e.RequestContext.Identity.SourceIP; ip != "" {
		r.RemoteAddr = net.JoinHostPort(ip, "0") // the caller's port is not known
	}
	return r, nil
}

// headersOf takes every value of every header. The single-value map holds the last
// value of each; it counts for headers that are nowhere else, as hand-written test
// events have them.
func headersOf(e events.APIGatewayProxyRequest) http.Header {
	h := http.Header{}
	for name, values := range e.MultiValueHeaders {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	for name, v := range e.Headers {
		if len(h.Values(name)) == 0 {
			h.Set(name, v)
		}
	}
	return h
}

// queryOf is the query. API Gateway has decoded names and values.
func queryOf(e events.APIGatewayProxyRequest) url.Values {
	q := url.Values{}
	for name, values := range e.MultiValueQueryStringParameters {
		q[name] = slices.Clone(values)
	}
	for name, v := range e.QueryStringParameters {
		if len(q[name]) == 0 {
			q.Set(name, v)
		}
	}
	return q
}
