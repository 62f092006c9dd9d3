package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/auth"
)

// What a principal's scopes open, and that the rest is refused before anything is
// read: the answer for a task that exists is that for one that does not.
func TestScopes(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	const none = "00000000-0000-7000-8000-000000000000"
	a2aRoutes := []string{"/tasks", "/tasks/" + id, "/tasks/" + none}
	ledger, effects, blob := "/tasks/"+id+"/ledger", "/tasks/"+id+"/effects", "/tasks/"+id+"/blobs/"+strings.Repeat("0", 64)
	opened := map[string][]string{
		"caller":        append([]string{ledger, blob}, a2aRoutes...),
		"operator:read": {ledger, blob, effects, "/tasks/" + none + "/effects"},
		"operator:act":  nil,
		"producer":      nil,
	}
	all := append([]string{ledger, effects, blob, "/tasks/" + none + "/effects"}, a2aRoutes...)
	for scope, open := range opened {
		for _, path := range all {
			as := c.with("Authorization", "Bearer "+tenant+"/someone/"+scope)
			a := as.send(as.raw(t.Context(), http.MethodGet, path, ""))
			refused := a.status == http.StatusForbidden
			if refused == slices.Contains(open, path) {
				t.Errorf("%s on %s: %d %s", scope, path, a.status, a.raw)
			}
			if refused && !strings.Contains(string(a.raw), "scope") {
				t.Errorf("%s on %s: the answer does not say which scope: %s", scope, path, a.raw)
			}
		}
	}
}

// The card names what to bring, in the specification's shape (§4.5), and nothing when
// nobody is asked.
func TestCardSecurity(t *testing.T) {
	card := func(schemes ...auth.Scheme) map[string]any {
		w := newWorld(t, func(w *world) { w.config.Callers = strangers{schemes} })
		c := w.client(t, false)
		a := c.send(c.raw(t.Context(), http.MethodGet, "/.well-known/agent-card.json", ""))
		var out map[string]any
		if err := json.Unmarshal(a.raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	open := card()
	if open["securitySchemes"] != nil || open["securityRequirements"] != nil {
		t.Errorf("nobody is asked, and the card says %v %v", open["securitySchemes"], open["securityRequirements"])
	}
	c := card(auth.Scheme{Name: "oidc", Kind: auth.OpenIDConnect, DiscoveryURL: "https://issuer.example/.well-known/openid-configuration"},
		auth.Scheme{Name: "bearerKey", Kind: auth.HTTPBearer}, auth.Scheme{Name: "apiKey", Kind: auth.APIKey, Header: "X-API-Key"})
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"securitySchemes": {
			"oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://issuer.example/.well-known/openid-configuration"}},
			"bearerKey": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
			"apiKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}}},
		"securityRequirements": [{"schemes": {"oidc": {"list": []}}}, {"schemes": {"bearerKey": {"list": []}}}, {"schemes": {"apiKey": {"list": []}}}]}`), &want); err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		if !reflect.DeepEqual(c[name], w) {
			t.Errorf("%s: %v, want %v", name, c[name], w)
		}
	}
}
