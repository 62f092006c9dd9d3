package dynamo

import (
	"io"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// idleConnections is how many connections to one service wait to be used again. The
// SDK keeps ten: who asks for more at once (the stream function, the sweep) would open
// one, with its handshake, for every other request.
const idleConnections = 64

// NewHTTPClient is an HTTPClient for processes that ask for many things at once.
func NewHTTPClient() HTTPClient {
	return HTTPClient{Client: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = idleConnections
	})}
}

// HTTPClient is the client of the SDK's requests, for every service: give it to
// aws.Config.
//
// The SDK closes a request's body as soon as the answer has begun. net/http may
// then still be looking whether the body has ended, and takes what the closed body
// answers there for a fault (smithy-go 1.28.9: WriteTo gives io.EOF); it closes
// the connection, and the answer cannot be read to its end. On a busy machine that
// was one request in several thousand. Without WriteTo the body is read, and its
// end is an end.
type HTTPClient struct {
	// Client makes the requests.
	Client interface {
		Do(r *http.Request) (*http.Response, error)
	}
}

// Do implements aws.HTTPClient.
func (c HTTPClient) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return c.Client.Do(r)
	}
	r = r.WithContext(r.Context()) // a copy: the SDK keeps the original
	r.Body = struct{ io.ReadCloser }{r.Body}
	return c.Client.Do(r)
}
