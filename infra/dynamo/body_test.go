package dynamo

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// fleeting is a body as the SDK makes them: once closed, WriteTo fails.
type fleeting struct{ *strings.Reader }

func (fleeting) Close() error { return nil }

func (fleeting) WriteTo(io.Writer) (int64, error) { return 0, io.EOF }

// recorder keeps the request that it is given.
type recorder struct{ got *http.Request }

func (r *recorder) Do(q *http.Request) (*http.Response, error) {
	r.got = q
	return &http.Response{}, nil
}

// TestHTTPClient: what net/http is given is read and not asked to write itself.
func TestHTTPClient(t *testing.T) {
	var r recorder
	for _, body := range []io.ReadCloser{nil, http.NoBody, fleeting{strings.NewReader("{}")}} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (HTTPClient{Client: &r}).Do(q); err != nil {
			t.Fatal(err)
		}
		_, special := body.(fleeting)
		if !special {
			if r.got.Body != body && r.got.Body != nil {
				t.Errorf("a request without a body has %v", r.got.Body)
			}
			continue
		}
		if _, writes := r.got.Body.(io.WriterTo); writes || r.got == q {
			t.Error("the body still writes itself")
		}
		var b strings.Builder
		if n, err := io.Copy(&b, r.got.Body); err != nil || n != 2 || b.String() != "{}" {
			t.Errorf("%q was read (%v)", b.String(), err)
		}
	}
}
