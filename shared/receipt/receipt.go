package receipt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// MaxBytes bounds a receipt. Those that issuers give out have less than 1 KiB.
const MaxBytes = 8 << 10

// Type is the typ of a receipt's header.
const Type = "holdfast-receipt+jwt"

// claims are what a receipt says.
type claims struct {
	jwt.Claims
	Bound *binding `json:"urn:holdfast:a2a:durable-task:v1"` //nolint:tagliatelle // lifecycle.ExtensionURI: a claim's name must not collide (RFC 7519, 4.2)
}

// binding is what a receipt is for.
type binding struct {
	Tenant    string `json:"tenant"`
	Task      string `json:"task"`
	Challenge int    `json:"challenge"`
	Action    string `json:"action"`
}

// token is a receipt that was read and not verified.
type token struct {
	*jwt.JSONWebToken
	kid, alg string
	claims   claims
	digest   lifecycle.Digest
}

// read takes a receipt apart. It believes nothing; what it refuses could not be
// verified either.
func read(text string) (token, error) {
	switch {
	case text == "":
		return token{}, invalid(Missing)
	case len(text) > MaxBytes:
		return token{}, invalid(TooLarge)
	case strings.ContainsFunc(text, foreign): // what decodes base64 would pass over line feeds
		return token{}, invalid(Malformed)
	}
	// No error of the library is passed on: it may quote the receipt.
	parsed, err := jwt.ParseSigned(text, auth.Algorithms())
	if err != nil || len(parsed.Headers) != 1 {
		return token{}, invalid(Malformed)
	}
	head := parsed.Headers[0]
	for _, name := range []jose.HeaderKey{"crit", "b64"} { // no extension is understood here (RFC 7515, 4.1.11), and tokens are never bare (RFC 7797, 7)
		if _, there := head.ExtraHeaders[name]; there {
			return token{}, invalid(Malformed)
		}
	}
	kind, _ := head.ExtraHeaders[jose.HeaderType].(string)
	if strings.TrimPrefix(strings.ToLower(kind), "application/") != Type {
		return token{}, invalid(WrongType)
	}
	t := token{JSONWebToken: parsed, kid: head.KeyID, alg: head.Algorithm, digest: lifecycle.DigestBytes([]byte(text))}
	if err := parsed.UnsafeClaimsWithoutVerification(&t.claims); err != nil {
		return token{}, invalid(Malformed)
	}
	c := t.claims
	if !usable(t.kid) || c.Issuer == "" || len(c.Audience) == 0 || c.IssuedAt == nil || c.Expiry == nil || !usable(c.ID) ||
		c.Bound == nil || c.Bound.Tenant == "" || c.Bound.Task == "" || c.Bound.Challenge < 1 || c.Bound.Action == "" {
		return token{}, invalid(Incomplete)
	}
	return t, nil
}

// foreign says whether a character is none of the compact form's.
func foreign(c rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", c)
}

// usable says whether an identifier of the issuer's can be kept.
func usable(s string) bool {
	return s != "" && len(s) <= lifecycle.MaxIDBytes && utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}

// ref is what is kept of the receipt.
func (t token) ref() lifecycle.ReceiptRef {
	return lifecycle.ReceiptRef{Challenge: t.claims.Bound.Challenge, Issuer: t.claims.Issuer, KeyID: t.kid, JTI: t.claims.ID, Digest: t.digest}
}
