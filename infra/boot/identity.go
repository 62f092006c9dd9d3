package boot

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
)

// Ways to authenticate.
const (
	byOIDC = "oidc"
	byKeys = "keys"
	byNone = "none"
)

// issuerTime bounds a request to the issuer, connection included.
const issuerTime = 5 * time.Second

// readAuth reads who may call. There is always somebody to be asked: whatever runs
// behind API Gateway is reached by everybody.
func readAuth(v *variables, now func() time.Time) auth.Authenticator {
	ways := strings.FieldsFunc(v.needed(authWays, "oidc, keys, or both as oidc,keys"), func(r rune) bool { return r == ',' || r == ' ' })
	var c auth.Credentials
	for _, way := range ways {
		switch way {
		case byOIDC:
			c.Tokens = readTokens(v, now)
		case byKeys:
			c.Keys = readKeys(v, now)
		case byNone:
			v.wrong(authWays, "is none: that is for a server on loopback only (make run); behind API Gateway set oidc or keys")
		default:
			v.wrong(authWays, "names no way to authenticate: give it oidc, keys, or both as oidc,keys")
		}
	}
	for _, name := range names {
		way := byOIDC
		if name == apiKeys {
			way = byKeys
		}
		if v.text(name) != "" && (name == apiKeys || strings.HasPrefix(name, "OIDC_")) && !slices.Contains(ways, way) {
			v.wrong(name, "is set, but HOLDFAST_AUTH does not name %s: add it, or remove this", way)
		}
	}
	return c
}

// tokenVariables name the variable of a field of auth.TokenConfig.
var tokenVariables = map[string]string{
	"Issuer": oidcIssuer, "JWKSURL": oidcJWKS, "Audiences": oidcAudience, "TenantClaim": oidcTenantClaim, "Tenant": oidcTenant,
}

func readTokens(v *variables, now func() time.Time) *auth.Tokens {
	c := auth.TokenConfig{
		Issuer: v.text(oidcIssuer), JWKSURL: v.text(oidcJWKS),
		Audiences:   strings.FieldsFunc(v.text(oidcAudience), func(r rune) bool { return r == ',' }),
		TenantClaim: v.text(oidcTenantClaim), Tenant: v.text(oidcTenant), ScopePrefix: v.text(oidcScopePrefix),
		Granted: []auth.Scope{auth.Caller}, Fetch: auth.HTTPFetch(&http.Client{Timeout: issuerTime}), Now: now,
	}
	if text := v.text(oidcGrant); text != "" {
		var err error
		if c.Granted, err = auth.ParseScopes(text); err != nil {
			v.wrong(oidcGrant, "has an %w", err)
		}
	}
	tokens, problems := auth.NewTokens(c)
	for _, p := range problems {
		v.wrong(tokenVariables[p.Field], "%s", strings.ReplaceAll(p.Text, "Tenant ", prefix+oidcTenant+" "))
	}
	return tokens
}

func readKeys(v *variables, now func() time.Time) *auth.Keys {
	text := v.needed(apiKeys, `a JSON array such as [{"tenant":"acme","name":"ci","sha256":"…"}]`)
	if text == "" {
		return nil
	}
	list, err := auth.ParseKeys([]byte(text))
	if err != nil {
		v.wrong(apiKeys, "cannot be used: %w", err)
		return nil
	}
	keys, err := auth.NewKeys(list, now)
	if err != nil {
		v.wrong(apiKeys, "cannot be used: %w", err)
	}
	return keys
}
