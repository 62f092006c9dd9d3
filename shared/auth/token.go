package auth

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// DefaultLeeway is how far clocks may differ.
const DefaultLeeway = time.Minute

// Algorithms are the only ones that something may be signed with (RFC 8725, 3.1):
// public keys, none of which could be taken for a shared secret.
func Algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// TokenConfig is an issuer and what its tokens mean here.
type TokenConfig struct {
	// Issuer is the iss of every token, an https address.
	Issuer string
	// JWKSURL is where the issuer's keys are. Empty: where the issuer's
	// /.well-known/openid-configuration says.
	JWKSURL string
	// Audiences are the aud that tokens for us have; one of them suffices.
	Audiences []string
	// TenantClaim names the claim that holds the tenant. Empty: everybody is of Tenant.
	TenantClaim, Tenant string
	// ScopePrefix is what the issuer puts before our scopes' names in scope or scp.
	ScopePrefix string
	// Granted are scopes that every principal has, whatever its token says.
	Granted []Scope
	// Leeway is how far clocks may differ. Zero: DefaultLeeway.
	Leeway time.Duration
	// Fetch gets documents of the issuer.
	Fetch Fetch
	Now   func() time.Time
}

// Tokens verifies the tokens of one issuer.
type Tokens struct {
	TokenConfig
	keys *KeySet
}

// TokenProblem is something wrong with a TokenConfig.
type TokenProblem struct {
	// Field of TokenConfig that must be changed.
	Field string
	Text  string
}

// Error implements error.
func (p *TokenProblem) Error() string { return p.Field + " " + p.Text }

// NewTokens makes a verifier, or says everything that is wrong with the
// configuration. It fetches nothing yet.
func NewTokens(c TokenConfig) (*Tokens, []*TokenProblem) {
	var problems []*TokenProblem
	check := func(fine bool, field, text string) {
		if !fine {
			problems = append(problems, &TokenProblem{field, text})
		}
	}
	check(Secure(c.Issuer), "Issuer", "must be an https address without query or fragment")
	check(c.JWKSURL == "" || Secure(c.JWKSURL), "JWKSURL", "must be an https address without query or fragment")
	check(len(c.Audiences) > 0, "Audiences", "needs one: without it, tokens for any other service would be taken")
	check((c.TenantClaim == "") != (c.Tenant == ""), "TenantClaim", "or Tenant is needed, and not both: either a claim says the tenant, or everybody is of one")
	check(c.Tenant == "" || named(c.Tenant), "Tenant", "needs 1 to 128 printable characters")
	check(c.Fetch != nil, "Fetch", "is needed")
	check(c.Now != nil, "Now", "is needed")
	if len(problems) > 0 {
		return nil, problems
	}
	c.Leeway = cmp.Or(c.Leeway, DefaultLeeway)
	return &Tokens{c, NewKeySet(c.Issuer, c.JWKSURL, c.Fetch, c.Now)}, nil
}

// Secure says whether keys may be fetched from an address: by https, or by http from
// this machine.
func Secure(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()))
}

func (t *Tokens) scheme() Scheme {
	return Scheme{
		Name: "oidc", Kind: OpenIDConnect, DiscoveryURL: discovery(t.Issuer),
		Description: "A token of the issuer for audience " + t.Audiences[0] + ", as bearer token.",
	}
}

// verify checks in this order: form, key, signature, and only then what it says.
func (t *Tokens) verify(ctx context.Context, raw string) (Principal, error) {
	// No error of the library is passed on: it may quote the token.
	token, err := jwt.ParseSigned(raw, Algorithms())
	if err != nil || len(token.Headers) != 1 {
		return Principal{}, refuse(ErrUnauthenticated, "malformed token, or an algorithm that is not taken")
	}
	head := token.Headers[0]
	if kind, stated := head.ExtraHeaders[jose.HeaderType].(string); stated && !accessToken(kind) {
		return Principal{}, refuse(ErrUnauthenticated, "a token of another type")
	}
	key, err := t.keys.Find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return Principal{}, err
	}
	var claims jwt.Claims
	var extra map[string]any
	if err := token.Claims(key, &claims, &extra); err != nil {
		return Principal{}, refuse(ErrUnauthenticated, "wrong signature")
	}
	if reason := t.invalid(claims); reason != "" {
		return Principal{}, refuse(ErrUnauthenticated, reason)
	}
	return t.principal(claims.Subject, extra)
}

// accessToken keeps out what the issuer signed for another use (RFC 8725, 3.11).
func accessToken(kind string) bool {
	kind = strings.TrimPrefix(strings.ToLower(kind), "application/")
	return kind == "jwt" || kind == "at+jwt"
}

// invalid is why the registered claims (RFC 7519, 4.1) do not hold here and now.
func (t *Tokens) invalid(c jwt.Claims) string {
	switch now := t.Now(); {
	case c.Issuer != t.Issuer:
		return "another issuer"
	case !slices.ContainsFunc(t.Audiences, c.Audience.Contains):
		return "another audience"
	case c.Expiry == nil:
		return "a token without an end"
	case !now.Add(-t.Leeway).Before(c.Expiry.Time()):
		return "expired"
	case c.NotBefore != nil && now.Add(t.Leeway).Before(c.NotBefore.Time()):
		return "not valid yet"
	case c.IssuedAt != nil && now.Add(t.Leeway).Before(c.IssuedAt.Time()):
		return "issued in the future"
	case !named(c.Subject):
		return "no usable subject"
	}
	return ""
}

// principal maps the claims of a valid token.
func (t *Tokens) principal(subject string, claims map[string]any) (Principal, error) {
	p := Principal{Tenant: t.Tenant, Name: "sub:" + subject, Scopes: t.Granted}
	if t.TenantClaim != "" {
		p.Tenant, _ = claims[t.TenantClaim].(string)
		if !named(p.Tenant) {
			return Principal{}, refuse(ErrForbidden, "no usable tenant in the token")
		}
	}
	for _, s := range scopes {
		if !p.May(s) && granted(claims, t.ScopePrefix+string(s)) {
			p.Scopes = append(p.Scopes[:len(p.Scopes):len(p.Scopes)], s)
		}
	}
	return p, nil
}

// granted looks a name up in scope (RFC 9068, 2.2.3) and scp, which some issuers write
// instead: a text with spaces, or a list.
func granted(claims map[string]any, name string) bool {
	for _, claim := range []string{"scope", "scp"} {
		switch v := claims[claim].(type) {
		case string:
			for word := range strings.FieldsSeq(v) {
				if word == name {
					return true
				}
			}
		case []any:
			for _, word := range v {
				if word == name {
					return true
				}
			}
		}
	}
	return false
}
