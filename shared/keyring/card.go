package keyring

import (
	"context"
	"crypto/ed25519"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
)

// SignCard signs the canonical JSON of an agent card (A2A §8.4.2): a JWS with a
// detached payload, by Ed25519, whose key is in the key set at keySetURL.
func (r *Ring) SignCard(ctx context.Context, canonical []byte, keySetURL string) (a2a.AgentCardSignature, error) {
	seed, err := r.seed(ctx, cardName)
	if err != nil {
		return a2a.AgentCardSignature{}, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	key := jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: keyID(publicOf(private))}}
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JOSE").WithHeader("jku", keySetURL))
	if err != nil {
		return a2a.AgentCardSignature{}, err
	}
	signed, err := signer.Sign(canonical)
	if err != nil {
		return a2a.AgentCardSignature{}, err
	}
	var flat a2a.AgentCardSignature // its names are those of the flattened form (RFC 7515, 7.2.2)
	err = json.Unmarshal([]byte(signed.FullSerialize()), &flat)
	return flat, err
}

// KeySet is the public half of what signs cards, as a JWK Set (RFC 7517).
func (r *Ring) KeySet(ctx context.Context) ([]byte, error) {
	seed, err := r.seed(ctx, cardName)
	if err != nil {
		return nil, err
	}
	public := publicOf(ed25519.NewKeyFromSeed(seed))
	return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: keyID(public), Algorithm: string(jose.EdDSA), Use: "sig"}}})
}

func publicOf(private ed25519.PrivateKey) ed25519.PublicKey {
	public, _ := private.Public().(ed25519.PublicKey) // it is nothing else
	return public
}
