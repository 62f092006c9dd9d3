package keyring_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// Rings of one store have the same keys, also when they begin at the same time; each
// purpose has one of its own.
func TestRingsShareKeys(t *testing.T) {
	var store keyring.Memory
	ctx := t.Context()
	codes := make([][]byte, 16)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			code, err := keyring.New(&store).Code(ctx, []byte("page"))
			if err != nil {
				t.Error(err)
			}
			codes[i] = code
		})
	}
	all.Wait()
	for _, c := range codes {
		if len(c) != 32 || !bytes.Equal(c, codes[0]) {
			t.Errorf("codes differ: %x, %x", c, codes[0])
		}
	}
	other, err := keyring.New(&keyring.Memory{}).Code(ctx, []byte("page"))
	if err != nil || bytes.Equal(other, codes[0]) {
		t.Errorf("another store gives the same code, %v", err)
	}
	ring := keyring.New(&store)
	if _, err := ring.KeySet(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Webhook(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Seal(ctx, []byte("plain"), "place"); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, name := range []string{"page-1", "card-1", "webhook-1", "seal-1"} {
		kept, err := store.Secret(ctx, name, nil)
		if other := seen[string(kept)]; err != nil || len(kept) != 32 || other != "" {
			t.Errorf("%s is %d bytes long, and that of %q, %v", name, len(kept), other, err)
		}
		seen[string(kept)] = name
	}
}

// What SignCard makes is a JWS that anybody with the key set can verify, and that
// holds for that content alone (A2A §8.4.3).
func TestCardSignature(t *testing.T) {
	ring := keyring.New(&keyring.Memory{})
	content := []byte(`{"name":"a"}`)
	const address = "https://agents.example/.well-known/jwks.json"
	signatures, err := ring.SignCard(t.Context(), content, address)
	if err != nil || len(signatures) != 1 {
		t.Fatalf("%v, %v", signatures, err)
	}
	s := signatures[0]
	text, err := ring.KeySet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() {
		t.Fatalf("%s, %v", text, err)
	}
	compact := func(content []byte) string {
		return s.Protected + "." + base64.RawURLEncoding.EncodeToString(content) + "." + s.Signature
	}
	jws, err := jose.ParseSignedCompact(compact(content), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jws.Verify(set); err != nil {
		t.Errorf("the signature is not good: %v", err)
	}
	head := jws.Signatures[0].Protected
	if head.Algorithm != "EdDSA" || head.KeyID != set.Keys[0].KeyID || head.ExtraHeaders["typ"] != "JOSE" || head.ExtraHeaders["jku"] != address {
		t.Errorf("protected header %+v", head)
	}
	changed, err := jose.ParseSignedCompact(compact([]byte(`{"name":"b"}`)), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := changed.Verify(set); err == nil {
		t.Error("the signature holds for another card")
	}
}

var errAway = errors.New("away")

// broken is a store that cannot be reached, or holds what is no key.
type broken struct {
	bytes, list []byte
	err         error
}

// Secret implements keyring.Store.
func (b *broken) Secret(_ context.Context, name string, _ []byte) ([]byte, error) {
	if name == "ring" {
		return b.list, b.err
	}
	return b.bytes, b.err
}

// Replace implements keyring.Store.
func (b *broken) Replace(context.Context, string, []byte, []byte) (bool, error) { return false, b.err }

// A store that was away is asked again; a key of another length is refused.
func TestStoreTrouble(t *testing.T) {
	store := &broken{err: errAway}
	ring := keyring.New(store)
	if _, err := ring.Code(t.Context(), nil); !errors.Is(err, errAway) {
		t.Errorf("error %v", err)
	}
	if _, err := ring.KeySet(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("error %v", err)
	}
	store.err, store.bytes = nil, []byte("short")
	if _, err := ring.Code(t.Context(), nil); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("error %v", err)
	}
	store.bytes = make([]byte, 32)
	if _, err := ring.Code(t.Context(), nil); err != nil {
		t.Error(err)
	}
	store.list = []byte("{not a list}")
	if _, err := keyring.New(store).Code(t.Context(), nil); err == nil || strings.Contains(err.Error(), "not a list") {
		t.Errorf("error %v", err)
	}
}
