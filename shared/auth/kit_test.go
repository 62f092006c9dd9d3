// Everything here is real but the issuer's address and the clock: keys are made for the
// run, tokens are signed by the library that verifies them, and a key set is what Fetch
// returns.
package auth_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/auth"
)

const (
	issuerURL = "https://issuer.example.com/pool"
	audience  = "https://agents.example.com"
)

// noon is when these tests take place.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// signingKeys are made once: RSA keys are slow to make.
var signingKeys = sync.OnceValue(func() map[string]crypto.Signer {
	rsaKey, err1 := rsa.GenerateKey(rand.Reader, 2048)
	ecKey, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, err3 := ed25519.GenerateKey(rand.Reader)
	_, other, err4 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil
	}
	return map[string]crypto.Signer{"rsa": rsaKey, "ec": ecKey, "ed": edKey, "other": other}
})

// issuer is the other side of Tokens.
type issuer struct {
	t   *testing.T
	mu  sync.Mutex
	now time.Time
	// documents by address; err answers instead when it is set.
	documents map[string][]byte
	err       error
	fetches   int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, now: noon, documents: map[string][]byte{}}
	i.documents[issuerURL+"/.well-known/openid-configuration"] = []byte(`{"issuer":"` + issuerURL + `","jwks_uri":"` + issuerURL + `/keys"}`)
	i.publish("rsa", "ec", "ed")
	return i
}

// publish makes the issuer's key set.
func (i *issuer) publish(kids ...string) {
	var set jose.JSONWebKeySet
	for _, kid := range kids {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: signingKeys()[kid].Public(), KeyID: kid, Use: "sig"})
	}
	i.serve(set)
}

func (i *issuer) serve(set any) {
	b, err := json.Marshal(set)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.documents[issuerURL+"/keys"] = b
}

func (i *issuer) fetch(_ context.Context, address string) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fetches++
	if i.err != nil {
		return nil, i.err
	}
	b, ok := i.documents[address]
	if !ok {
		return nil, errors.New("404 " + address)
	}
	return b, nil
}

func (i *issuer) clock() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.now
}

func (i *issuer) pass(d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = i.now.Add(d)
}

func (i *issuer) asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) config() auth.TokenConfig {
	return auth.TokenConfig{
		Issuer: issuerURL, Audiences: []string{audience, "second"}, TenantClaim: "org", ScopePrefix: "holdfast/",
		Fetch: i.fetch, Now: i.clock,
	}
}

func (i *issuer) verifier() auth.Authenticator { return i.verifierOf(i.config()) }

func (i *issuer) verifierOf(c auth.TokenConfig) auth.Authenticator {
	tokens, problems := auth.NewTokens(c)
	for _, p := range problems {
		i.t.Fatal(p)
	}
	return auth.Credentials{Tokens: tokens}
}

// claims of a good token.
func claims(changes map[string]any) map[string]any {
	c := map[string]any{
		"iss": issuerURL, "aud": audience, "sub": "alice", "org": "acme", "scope": "openid holdfast/caller",
		"iat": noon.Add(-time.Minute).Unix(), "nbf": noon.Add(-time.Minute).Unix(), "exp": noon.Add(time.Hour).Unix(),
	}
	maps.Copy(c, changes)
	for name, v := range c {
		if v == nil {
			delete(c, name)
		}
	}
	return c
}

// sign makes a token with a key of signingKeys, under another key ID if one is given.
func (i *issuer) sign(key string, header map[jose.HeaderKey]any, c map[string]any) string {
	i.t.Helper()
	algorithm := map[string]jose.SignatureAlgorithm{"rsa": jose.RS256, "ec": jose.ES256}[key]
	if algorithm == "" {
		algorithm = jose.EdDSA
	}
	o := (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", key)
	for name, v := range header {
		o.WithHeader(name, v)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: signingKeys()[key]}, o)
	if err != nil {
		i.t.Fatal(err)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// ask sends a credential and returns what came of it; it checks that no error quotes it.
func ask(t *testing.T, a auth.Authenticator, header http.Header) (auth.Principal, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://agents.example.com/rpc", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	p, err := a.Authenticate(r)
	if err != nil {
		if p.Tenant != "" || len(p.Scopes) > 0 {
			t.Errorf("a refused request is %+v", p)
		}
		for _, values := range header {
			for _, v := range values {
				for secret := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ' ' || r == '.' }) {
					if len(secret) > 12 && strings.Contains(err.Error(), secret) {
						t.Errorf("the error quotes the credential: %v", err)
					}
				}
			}
		}
	}
	return p, err
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
