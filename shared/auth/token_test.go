package auth_test

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/auth"
)

func TestGoodTokens(t *testing.T) {
	i := newIssuer(t)
	caller := []auth.Scope{auth.Caller}
	for _, c := range []struct {
		name  string
		token string
		want  auth.Principal
	}{
		{"RS256", i.sign("rsa", nil, claims(nil)), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"ES256", i.sign("ec", nil, claims(nil)), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"EdDSA", i.sign("ed", nil, claims(nil)), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"access token", i.sign("ed", map[jose.HeaderKey]any{"typ": "at+jwt"}, claims(nil)), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"another of our audiences", i.sign("ed", nil, claims(map[string]any{"aud": []string{"x", "second"}})), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"just expired", i.sign("ed", nil, claims(map[string]any{"exp": noon.Add(-59 * time.Second).Unix()})), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"a fast clock", i.sign("ed", nil, claims(map[string]any{"nbf": noon.Add(time.Minute).Unix(), "iat": noon.Add(time.Minute).Unix()})), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"without nbf and iat", i.sign("ed", nil, claims(map[string]any{"nbf": nil, "iat": nil})), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: caller}},
		{"scp as a list", i.sign("ed", nil, claims(map[string]any{"scope": nil, "scp": []string{"holdfast/operator:read", "holdfast/producer"}})), auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: []auth.Scope{auth.Producer, auth.OperatorRead}}},
		{"others' scopes", i.sign("ed", nil, claims(map[string]any{"scope": "caller holdfast/callers x/holdfast/caller"})), auth.Principal{Tenant: "acme", Name: "sub:alice"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := ask(t, i.verifier(), bearer(c.token)); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestBadTokens(t *testing.T) {
	i := newIssuer(t)
	good := i.sign("ed", nil, claims(nil))
	part := strings.Split(good, ".")
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	hmac := func() string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, (&jose.SignerOptions{}).WithHeader("kid", "ed"))
		if err != nil {
			t.Fatal(err)
		}
		signed, _ := signer.Sign([]byte(`{}`))
		text, _ := signed.CompactSerialize()
		return text
	}
	for _, c := range []struct {
		name, token, reason string
		kind                error
	}{
		{"not a token", "abc", "malformed", auth.ErrUnauthenticated},
		{"two parts", part[0] + "." + part[1], "malformed", auth.ErrUnauthenticated},
		{"alg none", b64(`{"alg":"none","kid":"ed"}`) + "." + part[1] + ".", "malformed", auth.ErrUnauthenticated},
		{"alg none with the signature", b64(`{"alg":"none","kid":"ed"}`) + "." + part[1] + "." + part[2], "malformed", auth.ErrUnauthenticated},
		{"a shared secret", hmac(), "malformed", auth.ErrUnauthenticated},
		{"another algorithm's key", b64(`{"alg":"RS256","kid":"ed"}`) + "." + part[1] + "." + part[2], "unknown key", auth.ErrUnauthenticated},
		{"no signature", part[0] + "." + part[1] + ".", "", auth.ErrUnauthenticated},
		{"changed claims", part[0] + "." + b64(`{"iss":"`+issuerURL+`","aud":"`+audience+`","sub":"alice","org":"other","exp":4102444800}`) + "." + part[2], "wrong signature", auth.ErrUnauthenticated},
		{"another's signature", part[0] + "." + part[1] + "." + strings.Split(i.sign("other", nil, claims(nil)), ".")[2], "wrong signature", auth.ErrUnauthenticated},
		{"a key in the header", i.sign("other", map[jose.HeaderKey]any{"kid": "ed", "jwk": jose.JSONWebKey{Key: signingKeys()["other"].Public()}}, claims(nil)), "wrong signature", auth.ErrUnauthenticated},
		{"unknown kid", i.sign("other", nil, claims(nil)), "unknown key", auth.ErrUnauthenticated},
		{"no kid, several keys", i.sign("ed", map[jose.HeaderKey]any{"kid": ""}, claims(nil)), "", nil}, // the only EdDSA key
		{"an ID token for logout", i.sign("ed", map[jose.HeaderKey]any{"typ": "logout+jwt"}, claims(nil)), "another type", auth.ErrUnauthenticated},
		{"another issuer", i.sign("ed", nil, claims(map[string]any{"iss": issuerURL + "/"})), "another issuer", auth.ErrUnauthenticated},
		{"no issuer", i.sign("ed", nil, claims(map[string]any{"iss": nil})), "another issuer", auth.ErrUnauthenticated},
		{"another audience", i.sign("ed", nil, claims(map[string]any{"aud": []string{"x"}})), "another audience", auth.ErrUnauthenticated},
		{"no audience", i.sign("ed", nil, claims(map[string]any{"aud": nil})), "another audience", auth.ErrUnauthenticated},
		{"expired", i.sign("ed", nil, claims(map[string]any{"exp": noon.Add(-time.Minute).Unix()})), "expired", auth.ErrUnauthenticated},
		{"no end", i.sign("ed", nil, claims(map[string]any{"exp": nil})), "without an end", auth.ErrUnauthenticated},
		{"not valid yet", i.sign("ed", nil, claims(map[string]any{"nbf": noon.Add(61 * time.Second).Unix()})), "not valid yet", auth.ErrUnauthenticated},
		{"from the future", i.sign("ed", nil, claims(map[string]any{"iat": noon.Add(61 * time.Second).Unix()})), "future", auth.ErrUnauthenticated},
		{"no subject", i.sign("ed", nil, claims(map[string]any{"sub": nil})), "subject", auth.ErrUnauthenticated},
		{"no tenant", i.sign("ed", nil, claims(map[string]any{"org": nil})), "tenant", auth.ErrForbidden},
		{"a tenant that is no text", i.sign("ed", nil, claims(map[string]any{"org": []string{"acme"}})), "tenant", auth.ErrForbidden},
		{"a tenant with a control character", i.sign("ed", nil, claims(map[string]any{"org": "a\x00b"})), "tenant", auth.ErrForbidden},
		{"a long tenant", i.sign("ed", nil, claims(map[string]any{"org": strings.Repeat("x", 129)})), "tenant", auth.ErrForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, i.verifier(), bearer(c.token))
			if !errors.Is(err, c.kind) || !strings.Contains(auth.Reason(err), c.reason) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.reason)
			}
		})
	}
}

// TestOneTenant: a deployment for one organisation needs no claim.
func TestOneTenant(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.TenantClaim, c.Tenant, c.Granted = "", "everybody", []auth.Scope{auth.Caller}
	got, err := ask(t, i.verifierOf(c), bearer(i.sign("ed", nil, claims(map[string]any{"scope": "holdfast/operator:act holdfast/caller"}))))
	want := auth.Principal{Tenant: "everybody", Name: "sub:alice", Scopes: []auth.Scope{auth.Caller, auth.OperatorAct}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(c.Granted) != 1 {
		t.Errorf("one token changed what others are granted: %v", c.Granted)
	}
}

func TestTokenConfig(t *testing.T) {
	_, problems := auth.NewTokens(auth.TokenConfig{Issuer: "http://issuer.example.com", JWKSURL: "https://u:p@x/keys", Tenant: "a\nb", TenantClaim: "org"})
	var fields []string
	for _, p := range problems {
		fields = append(fields, p.Field)
		if p.Error() == "" {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"Issuer", "JWKSURL", "Audiences", "TenantClaim", "Tenant", "Fetch", "Now"}; !reflect.DeepEqual(fields, want) {
		t.Errorf("got %v, want %v", fields, want)
	}
}
