package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxDocumentBytes bounds what an issuer may send: a hundred RSA keys with their
// certificates.
const maxDocumentBytes = 256 << 10

// Fetch gets a document. It must bound the size of what it reads; the context bounds
// the time.
type Fetch func(ctx context.Context, address string) ([]byte, error)

// HTTPFetch gets documents with a client, up to a fixed size, and follows no
// redirect: an address that moved is configured anew.
func HTTPFetch(client *http.Client) Fetch {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, address string) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "application/json")
		resp, err := own.Do(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answered %s", address, resp.Status)
		}
		b, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes+1))
		if err == nil && len(b) > maxDocumentBytes {
			err = errors.New(address + " is larger than 256 KiB")
		}
		return b, err
	}
}

// discovery is where an issuer describes itself (OpenID Connect Discovery 1.0, 4).
func discovery(issuer string) string {
	return strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
}
