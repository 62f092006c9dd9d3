package auth

import (
	"net/http"
	"strings"
)

const (
	// maxCredentialBytes bounds what is parsed for a stranger. API Gateway takes 10,240
	// bytes of headers altogether.
	maxCredentialBytes = 8 << 10
	// HeaderKey is where an API key may stand instead of Authorization.
	HeaderKey = "X-API-Key"
)

// credential is what a request brings: one of the two.
type credential struct {
	bearer string // of Authorization (RFC 6750, 2.1)
	key    string // of HeaderKey
}

// credentialOf reads the one credential of a request. Two are refused: it would be
// open which of them counts.
func credentialOf(h http.Header) (credential, error) {
	authorizations, keys := h.Values("Authorization"), h.Values(HeaderKey)
	switch {
	case len(authorizations)+len(keys) == 0:
		return credential{}, refuse(ErrUnauthenticated, "no credential")
	case len(authorizations)+len(keys) > 1:
		return credential{}, refuse(ErrUnauthenticated, "several credentials")
	case len(keys) == 1:
		if !token68(keys[0]) {
			return credential{}, refuse(ErrUnauthenticated, "malformed credential")
		}
		return credential{key: keys[0]}, nil
	}
	scheme, rest, _ := strings.Cut(authorizations[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return credential{}, refuse(ErrUnauthenticated, "unknown authorization scheme")
	}
	if rest = strings.TrimLeft(rest, " "); !token68(rest) {
		return credential{}, refuse(ErrUnauthenticated, "malformed credential")
	}
	return credential{bearer: rest}, nil
}

// token68 is the form of a bearer token (RFC 9110, 11.2).
func token68(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" || len(s) > maxCredentialBytes {
		return false
	}
	for _, c := range []byte(body) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Credentials takes tokens, keys, or both: a bearer credential with dots is a token,
// which a key never has.
type Credentials struct {
	Tokens *Tokens
	Keys   *Keys
}

var _ Authenticator = Credentials{}

// Authenticate implements Authenticator.
func (c Credentials) Authenticate(r *http.Request) (Principal, error) {
	given, err := credentialOf(r.Header)
	if err != nil {
		return Principal{}, err
	}
	switch {
	case c.Tokens != nil && given.bearer != "" && (c.Keys == nil || strings.Contains(given.bearer, ".")):
		return c.Tokens.verify(r.Context(), given.bearer)
	case c.Keys != nil:
		return c.Keys.verify(given.key + given.bearer) // one of them is empty
	}
	return Principal{}, refuse(ErrUnauthenticated, "no such credential is taken here")
}

// Schemes implements Authenticator.
func (c Credentials) Schemes() []Scheme {
	var out []Scheme
	if c.Tokens != nil {
		out = append(out, c.Tokens.scheme())
	}
	if c.Keys != nil {
		out = append(out, keySchemes...)
	}
	return out
}
