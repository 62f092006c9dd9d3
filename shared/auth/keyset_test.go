package auth_test

import (
	"context"
	"crypto/rsa"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/auth"
)

// TestKeysAreCached: once for a thousand tokens, and again when they are old.
func TestKeysAreCached(t *testing.T) {
	i := newIssuer(t)
	a, token := i.verifier(), bearer(i.sign("ed", nil, claims(map[string]any{"exp": noon.Add(48 * time.Hour).Unix()})))
	for range 1000 {
		if _, err := ask(t, a, token); err != nil {
			t.Fatal(err)
		}
	}
	if n := i.asked(); n != 2 { // discovery and keys
		t.Errorf("%d requests to the issuer, want 2", n)
	}
	i.pass(10 * time.Minute)
	if _, err := ask(t, a, token); err != nil || i.asked() != 4 {
		t.Errorf("%d requests to the issuer, want 4 (%v)", i.asked(), err)
	}
}

// TestRollover: a token with a new key makes the keys be fetched, but strangers cannot
// cause a fetch with each of their inventions.
func TestRollover(t *testing.T) {
	i := newIssuer(t)
	a := i.verifier()
	if _, err := ask(t, a, bearer(i.sign("ed", nil, claims(nil)))); err != nil {
		t.Fatal(err)
	}
	i.publish("ec", "other")
	next := bearer(i.sign("other", nil, claims(nil)))
	before := i.asked()
	for range 50 {
		if _, err := ask(t, a, next); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatalf("a moment after a fetch: %v", err)
		}
	}
	if i.asked() != before {
		t.Errorf("%d requests for unknown keys right after a fetch", i.asked()-before)
	}
	i.pass(30 * time.Second)
	if _, err := ask(t, a, next); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if _, err := ask(t, a, bearer(i.sign("ed", nil, claims(nil)))); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("the withdrawn key: %v", err)
	}
}

// TestIssuerDown: known keys go on working for some hours; without any, the answer is
// that it cannot be told, never that the token is bad.
func TestIssuerDown(t *testing.T) {
	i := newIssuer(t)
	token := bearer(i.sign("ed", nil, claims(map[string]any{"exp": noon.Add(48 * time.Hour).Unix()})))
	i.err = errors.New("connection refused")
	a := i.verifier()
	if _, err := ask(t, a, token); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("without keys: %v", err)
	}
	i.err = nil
	i.pass(2 * time.Second)
	if _, err := ask(t, a, token); err != nil {
		t.Errorf("the issuer is back: %v", err)
	}
	i.err = errors.New("connection refused")
	i.pass(11 * time.Hour)
	if _, err := ask(t, a, token); err != nil {
		t.Errorf("with old keys: %v", err)
	}
	before := i.asked()
	if _, err := ask(t, a, token); err != nil || i.asked() != before {
		t.Errorf("asked the issuer again at once: %v", err)
	}
	i.pass(2 * time.Hour)
	if _, err := ask(t, a, token); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("with keys that are too old: %v", err)
	}
}

func TestKeySets(t *testing.T) {
	small := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1023, 1), E: 65537}
	rsaToken := newIssuer(t).sign("rsa", nil, claims(nil))
	ed := jose.JSONWebKey{Key: signingKeys()["ed"].Public(), KeyID: "ed"}
	for _, c := range []struct {
		name string
		set  any
		kind error
	}{
		{"with a kind of key that nobody knows", map[string]any{"keys": []any{map[string]any{"kty": "future", "kid": "x"}, ed}}, nil},
		{"with a shared secret", map[string]any{"keys": []any{map[string]any{"kty": "oct", "k": "c2VjcmV0", "kid": "ed"}}}, auth.ErrUnavailable},
		{"with a key for encryption", map[string]any{"keys": []any{jose.JSONWebKey{Key: ed.Key, KeyID: "ed", Use: "enc"}}}, auth.ErrUnauthenticated},
		{"with the key for another algorithm", map[string]any{"keys": []any{jose.JSONWebKey{Key: ed.Key, KeyID: "ed", Algorithm: "ES256"}}}, auth.ErrUnauthenticated},
		{"with a short key", map[string]any{"keys": []any{jose.JSONWebKey{Key: small, KeyID: "rsa"}}}, auth.ErrUnauthenticated},
		{"empty", map[string]any{"keys": []any{}}, auth.ErrUnavailable},
		{"of another form", []any{1}, auth.ErrUnavailable},
		{"too large", map[string]any{"keys": []any{ed}, "pad": strings.Repeat("x", 256<<10)}, auth.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newIssuer(t)
			i.serve(c.set)
			token := i.sign("ed", nil, claims(nil))
			if strings.Contains(c.name, "short") {
				token = rsaToken
			}
			if _, err := ask(t, i.verifier(), bearer(token)); !errors.Is(err, c.kind) || c.name == "with a short key" && auth.Reason(err) != "unknown key" {
				t.Errorf("got %v, want %v", err, c.kind)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	for name, document := range map[string]string{
		"another issuer's": `{"issuer":"https://evil.example.com","jwks_uri":"` + issuerURL + `/keys"}`,
		"insecure keys":    `{"issuer":"` + issuerURL + `","jwks_uri":"http://issuer.example.com/keys"}`,
		"unreadable":       `<html>`,
	} {
		i := newIssuer(t)
		i.documents[issuerURL+"/.well-known/openid-configuration"] = []byte(document)
		if _, err := ask(t, i.verifier(), bearer(i.sign("ed", nil, claims(nil)))); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		c := i.config()
		c.JWKSURL = issuerURL + "/keys"
		if _, err := ask(t, i.verifierOf(c), bearer(i.sign("ed", nil, claims(nil)))); err != nil {
			t.Errorf("%s, with the keys' address configured: %v", name, err)
		}
	}
}

// TestOneFetchForAll: callers who come together wait for one fetch, and one who leaves
// takes nothing from the others.
func TestOneFetchForAll(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	c.JWKSURL = issuerURL + "/keys"
	entered, release := make(chan struct{}), make(chan struct{})
	c.Fetch = func(ctx context.Context, address string) ([]byte, error) {
		close(entered) // a second fetch would panic here
		<-release
		return i.fetch(ctx, address)
	}
	a, header := i.verifierOf(c), bearer(i.sign("ed", nil, claims(nil)))
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://x", nil)
		r.Header = header
		_, err := a.Authenticate(r)
		left <- err
	}()
	<-entered
	leave()
	if err := <-left; !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("the caller who left: %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := ask(t, a, header); err != nil {
				t.Error(err)
			}
		})
	}
	close(release)
	all.Wait()
}

func TestHTTPFetch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/keys":
			_, _ = w.Write([]byte("{}"))
		case "/large":
			_, _ = w.Write(make([]byte, 256<<10+1))
		case "/moved":
			http.Redirect(w, r, "/keys", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	fetch := auth.HTTPFetch(server.Client())
	if b, err := fetch(t.Context(), server.URL+"/keys"); err != nil || string(b) != "{}" {
		t.Errorf("got %q, %v", b, err)
	}
	for _, path := range []string{"/large", "/moved", "/none"} {
		if b, err := fetch(t.Context(), server.URL+path); err == nil {
			t.Errorf("%s gave %d bytes", path, len(b))
		}
	}
}
