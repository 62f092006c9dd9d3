package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// verify does what §8.4.3 asks of a client: it takes the signature off, brings the rest
// into canonical form, and checks it against the key set that the signature names.
func verify(t *testing.T, c client, raw []byte) {
	t.Helper()
	var card map[string]json.RawMessage
	if err := json.Unmarshal(raw, &card); err != nil {
		t.Fatal(err)
	}
	var signatures []a2a.AgentCardSignature
	if err := json.Unmarshal(card["signatures"], &signatures); err != nil || len(signatures) != 1 {
		t.Fatalf("signatures %s", card["signatures"])
	}
	delete(card, "signatures")
	rest, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := jcs.Transform(rest)
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{`:""`, `:null`, `:{}`, `:false`} { // defaults are not signed (§8.4.1)
		if strings.Contains(strings.ReplaceAll(string(payload), `"description":""`, ""), empty) {
			t.Errorf("a default in %s", payload)
		}
	}
	s := signatures[0]
	jws, err := jose.ParseSignedCompact(s.Protected+"."+base64.RawURLEncoding.EncodeToString(payload)+"."+s.Signature, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	address, _ := jws.Signatures[0].Protected.ExtraHeaders["jku"].(string)
	a := c.send(c.raw(t.Context(), http.MethodGet, strings.TrimPrefix(address, c.base), ""))
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(a.raw, &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() {
		t.Fatalf("the key set at %s: %s", address, a.raw)
	}
	if _, err := jws.Verify(set); err != nil {
		t.Errorf("the signature does not hold for %s: %v", payload, err)
	}
}

// §8.4: cards are signed, the extended one as well.
func TestCardsAreSigned(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.config.Agents[0].ExtendedSkills = []a2a.AgentSkill{{ID: "inner", Name: "Inner", Description: "For those who have shown who they are."}}
	})
	c := w.client(t, false)
	public := c.send(c.raw(t.Context(), http.MethodGet, "/.well-known/agent-card.json", ""))
	verify(t, c, public.raw)
	extended := c.send(c.raw(t.Context(), http.MethodGet, "/extendedAgentCard", ""))
	verify(t, c, extended.raw)
	if text(public.result, "skills.1.id") != "" || text(extended.result, "skills.1.id") != "inner" || !strings.Contains(string(public.raw), `"extendedAgentCard":true`) {
		t.Errorf("public %s\nextended %s", public.raw, extended.raw)
	}
}

// §3.1.11, §13.3: the extended card is for callers who have shown who they are, and is
// not kept by caches.
func TestExtendedCard(t *testing.T) {
	both(t, []func(*world){func(w *world) {
		w.config.Agents[0].ExtendedSkills = []a2a.AgentSkill{{ID: "inner", Name: "Inner", Description: "More."}}
	}}, func(w *world, c client) {
		a := c.call("GetExtendedAgentCard", object{})
		if a.err != nil || text(a.result, "skills.1.id") != "inner" || a.header.Get("Cache-Control") != "private, no-store" {
			w.t.Errorf("%s", a.raw)
		}
		if a := c.with("Authorization", "Bearer bad/x").call("GetExtendedAgentCard", object{}); a.status != http.StatusUnauthorized || bytes.Contains(a.raw, []byte("inner")) {
			w.t.Errorf("%s", a.raw)
		}
		c.at("keyed").refused("GetExtendedAgentCard", object{}, "UNSUPPORTED_OPERATION")
	})
}

// lostKeys is a key store that is away.
type lostKeys struct{}

// Secret implements keyring.Store.
func (lostKeys) Secret(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("the store is away")
}

// Replace implements keyring.Store.
func (lostKeys) Replace(context.Context, string, []byte, []byte) (bool, error) {
	return false, errors.New("the store is away")
}

// An agent is found also while the store of its keys is away: unsigned.
func TestCardWithoutKeys(t *testing.T) {
	w := newWorld(t, func(w *world) { w.config.Keys = keyring.New(lostKeys{}) })
	c := w.client(t, false)
	a := c.send(c.raw(t.Context(), http.MethodGet, "/.well-known/agent-card.json", ""))
	if a.status != http.StatusOK || text(a.result, "name") != "first" || strings.Contains(string(a.raw), "signatures") {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := c.send(c.raw(t.Context(), http.MethodGet, "/.well-known/jwks.json", "")); a.status != http.StatusInternalServerError || strings.Contains(string(a.raw), "away") {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if !strings.Contains(w.logged(), "the card is not signed") {
		t.Error("nobody was told")
	}
}
