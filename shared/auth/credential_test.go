package auth_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
)

const (
	goodKey = "hf_0123456789abcdefghijABCDEFGHIJ_-0123456789"
	oldKey  = "hf_old_0123456789abcdefghijABCDEFGHIJ_-012345"
)

func keys(t *testing.T) *auth.Keys {
	t.Helper()
	list, err := auth.ParseKeys([]byte(`[
		{"tenant": "acme", "name": "ci", "sha256": "` + digest(goodKey) + `"},
		{"tenant": "acme", "name": "old", "sha256": "` + digest(oldKey) + `", "scopes": ["producer", "operator:act"], "notAfter": "2026-03-01T12:00:00Z"},
		{"tenant": "acme", "name": "short", "sha256": "` + digest("password") + `"}]`))
	if err != nil {
		t.Fatal(err)
	}
	k, err := auth.NewKeys(list, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeys(t *testing.T) {
	i := newIssuer(t)
	tokens, _ := auth.NewTokens(i.config())
	token := i.sign("ed", nil, claims(nil))
	k := keys(t)
	only, both := auth.Credentials{Keys: k}, auth.Credentials{Keys: k, Tokens: tokens}
	ci := auth.Principal{Tenant: "acme", Name: "key:ci", Scopes: []auth.Scope{auth.Caller}}
	old := auth.Principal{Tenant: "acme", Name: "key:old", Scopes: []auth.Scope{auth.Producer, auth.OperatorAct}}
	alice := auth.Principal{Tenant: "acme", Name: "sub:alice", Scopes: []auth.Scope{auth.Caller}}
	for _, c := range []struct {
		name   string
		a      auth.Authenticator
		header http.Header
		want   auth.Principal
		reason string
	}{
		{"bearer", only, bearer(goodKey), ci, ""},
		{"own header", only, http.Header{"X-Api-Key": {goodKey}}, ci, ""},
		{"scheme in capitals", only, http.Header{"Authorization": {"BEARER  " + goodKey}}, ci, ""},
		{"last moment", only, bearer(oldKey), old, ""},
		{"beside tokens", both, bearer(goodKey), ci, ""},
		{"a token beside keys", both, bearer(token), alice, ""},
		{"none", both, http.Header{}, auth.Principal{}, "no credential"},
		{"empty", both, http.Header{"Authorization": {""}}, auth.Principal{}, "scheme"},
		{"no text", both, bearer(""), auth.Principal{}, "malformed"},
		{"basic", both, http.Header{"Authorization": {"Basic " + goodKey}}, auth.Principal{}, "scheme"},
		{"twice", only, http.Header{"Authorization": {"Bearer " + goodKey, "Bearer " + goodKey}}, auth.Principal{}, "several"},
		{"both places", only, http.Header{"Authorization": {"Bearer " + goodKey}, "X-Api-Key": {goodKey}}, auth.Principal{}, "several"},
		{"one changed", only, bearer(goodKey[:len(goodKey)-1] + "8"), auth.Principal{}, "unknown key"},
		{"its digest", only, bearer(digest(goodKey)), auth.Principal{}, "unknown key"},
		{"short", only, bearer("password"), auth.Principal{}, "too short"},
		{"two words", only, bearer(goodKey + " x"), auth.Principal{}, "malformed"},
		{"no ASCII", only, bearer(goodKey + "é"), auth.Principal{}, "malformed"},
		{"huge", both, bearer(strings.Repeat("a.", 5000)), auth.Principal{}, "malformed"},
		{"a token in the key's header", both, http.Header{"X-Api-Key": {token}}, auth.Principal{}, "unknown key"},
		{"a key where only tokens are taken", auth.Credentials{Tokens: tokens}, http.Header{"X-Api-Key": {goodKey}}, auth.Principal{}, "no such credential"},
		{"nothing is configured", auth.Credentials{}, bearer(goodKey), auth.Principal{}, "no such credential"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ask(t, c.a, c.header)
			if c.reason == "" && (err != nil || !reflect.DeepEqual(got, c.want)) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
			if c.reason != "" && (!errors.Is(err, auth.ErrUnauthenticated) || !strings.Contains(auth.Reason(err), c.reason)) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestKeyHasExpired(t *testing.T) {
	k, err := auth.NewKeys([]auth.KeyEntry{{Tenant: "acme", Name: "ci", SHA256: digest(goodKey), NotAfter: noon.Add(-time.Second)}}, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, auth.Credentials{Keys: k}, bearer(goodKey)); auth.Reason(err) != "the key has expired" {
		t.Errorf("got %v", err)
	}
}

// TestKeyProblems: all at once, and a key that was put where its digest belongs is not
// repeated.
func TestKeyProblems(t *testing.T) {
	for _, text := range []string{
		`{"key":"` + goodKey + `"}`, goodKey, `[{"tenant":"a","name":"b","key":"` + goodKey + `"}]`, `[] []`, ``, `[]`,
		`[{"tenant":"a","name":"b","sha256":"` + goodKey + `"}]`,
	} {
		if _, err := auth.ParseKeys([]byte(text)); err == nil || strings.Contains(err.Error(), goodKey) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := auth.ParseKeys([]byte(`[{"tenant":"","name":"b","sha256":"x","scopes":["root"]},
		{"tenant":"t","name":"n","sha256":"` + digest("1") + `"},{"tenant":"t","name":"n","sha256":"` + strings.ToUpper(digest("1")) + `"}]`))
	if err == nil {
		t.Fatal("no problem was found")
	}
	if got := len(strings.Split(err.Error(), "\n")); got != 5 {
		t.Errorf("%d problems, want 5:\n%v", got, err)
	}
}

func TestParseScopes(t *testing.T) {
	if got, err := auth.ParseScopes("caller,operator:read producer"); err != nil || !reflect.DeepEqual(got, []auth.Scope{auth.Caller, auth.OperatorRead, auth.Producer}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := auth.ParseScopes("root"); err == nil {
		t.Error("an unknown scope was taken")
	}
}

func TestSchemes(t *testing.T) {
	i := newIssuer(t)
	tokens, _ := auth.NewTokens(i.config())
	var got []string
	for _, s := range (auth.Credentials{Tokens: tokens, Keys: keys(t)}).Schemes() {
		got = append(got, strings.Join([]string{s.Name, string(s.Kind), s.DiscoveryURL, s.Header}, "|"))
	}
	want := []string{"oidc|openIdConnect|" + issuerURL + "/.well-known/openid-configuration|", "bearerKey|http||", "apiKey|apiKey||X-API-Key"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLoopback(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:8080", "[::1]:8080", "localhost:0", "127.8.8.8:1"} {
		if _, err := auth.NewLoopback(addr, "local"); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for _, addr := range []string{":8080", "0.0.0.0:8080", "10.0.0.1:80", "[::]:80", "example.com:80", "localhost.example.com:80", "127.0.0.1", ""} {
		if _, err := auth.NewLoopback(addr, "local"); err == nil {
			t.Errorf("%q was taken", addr)
		}
	}
	if _, err := auth.NewLoopback("127.0.0.1:8080", ""); err == nil {
		t.Error("no tenant was taken")
	}
	a, err := auth.NewLoopback("127.0.0.1:8080", "local")
	if err != nil || a.Schemes() != nil {
		t.Fatal(err, a.Schemes())
	}
	for _, c := range []struct {
		remote, host string
		in           bool
	}{
		{"127.0.0.1:5", "127.0.0.1:8080", true},
		{"[::1]:5", "localhost:8080", true},
		{"[::1]:5", "[::1]", true},
		{"127.0.0.1:5", "localhost", true},
		{"10.0.0.9:5", "127.0.0.1:8080", false},
		{"127.0.0.1:5", "rebound.example.com:8080", false},
		{"", "localhost", false},
	} {
		p, err := a.Authenticate(&http.Request{RemoteAddr: c.remote, Host: c.host})
		if c.in != (err == nil) || c.in != p.May(auth.OperatorAct) || !c.in && !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s to %s: %+v, %v", c.remote, c.host, p, err)
		}
	}
}

// FuzzHeaders: no header lets a stranger in, and no error quotes one.
func FuzzHeaders(f *testing.F) {
	i := newIssuer(&testing.T{})
	tokens, _ := auth.NewTokens(i.config())
	k, err := auth.NewKeys([]auth.KeyEntry{{Tenant: "acme", Name: "ci", SHA256: digest(goodKey)}}, func() time.Time { return noon })
	if err != nil {
		f.Fatal(err)
	}
	a := auth.Credentials{Tokens: tokens, Keys: k}
	for _, seed := range []string{"Bearer x.y.z", "bearer " + goodKey[1:], "Bearer eyJhbGciOiJub25lIn0.e30.", "Basic eA==", "", "Bearer", "Bearer =", "Bearer a=b"} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Fuzz(func(t *testing.T, authorization, key string) {
		header := http.Header{}
		if authorization != "" {
			header.Set("Authorization", authorization)
		}
		if key != "" {
			header.Set("X-API-Key", key)
		}
		if p, err := ask(t, a, header); err == nil && !strings.Contains(authorization+key, goodKey) {
			t.Errorf("%q, %q let in %+v", authorization, key, p)
		}
	})
}
