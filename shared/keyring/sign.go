package keyring

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
)

// SignCard signs the canonical JSON of an agent card (A2A §8.4.2), with every key: a JWS
// with a detached payload, by Ed25519, whose key is in the key set at keySetURL.
func (r *Ring) SignCard(ctx context.Context, canonical []byte, keySetURL string) ([]a2a.AgentCardSignature, error) {
	keys, err := r.private(ctx, Card)
	if err != nil {
		return nil, err
	}
	var out []a2a.AgentCardSignature
	for _, k := range keys {
		s, err := signCard(k, canonical, keySetURL)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func signCard(private ed25519.PrivateKey, canonical []byte, keySetURL string) (flat a2a.AgentCardSignature, err error) {
	key := jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: keyID(publicOf(private))}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JOSE").WithHeader("jku", keySetURL))
	if err != nil {
		return flat, err
	}
	signed, err := signer.Sign(canonical)
	if err != nil {
		return flat, err
	}
	err = json.Unmarshal([]byte(signed.FullSerialize()), &flat) // its names are those of the flattened form (RFC 7515, 7.2.2)
	return flat, err
}

// KeySet are the public halves of what signs cards, as a JWK Set (RFC 7517).
func (r *Ring) KeySet(ctx context.Context) ([]byte, error) {
	keys, err := r.private(ctx, Card)
	if err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	for _, k := range keys {
		public := publicOf(k)
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: public, KeyID: keyID(public), Algorithm: string(jose.EdDSA), Use: "sig"})
	}
	return json.Marshal(set)
}

// Webhook are the keys that sign deliveries, the newest first.
func (r *Ring) Webhook(ctx context.Context) ([]ed25519.PrivateKey, error) {
	return r.private(ctx, Webhook)
}

// private are the keys of a use that signs, the newest first.
func (r *Ring) private(ctx context.Context, use Use) ([]ed25519.PrivateKey, error) {
	keys, err := r.keys(ctx, use)
	var out []ed25519.PrivateKey
	for _, k := range keys {
		out = append(out, ed25519.NewKeyFromSeed(k.seed))
	}
	return out, err
}

func publicOf(private ed25519.PrivateKey) ed25519.PublicKey {
	public, _ := private.Public().(ed25519.PublicKey) // it is nothing else
	return public
}

// keyID names a public key by its content, so that it is the same in every process.
func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}
