// Package keyring has the keys that all processes of a deployment share: they are
// made at random by whichever process needs one first, kept in a [Store], and never
// leave the process but as signatures and codes.
//
// Each use has a key of its own, so that nothing that was signed for one purpose can
// be passed off for another.
package keyring

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"sync"
)

// seedBytes is the length of every key: an Ed25519 seed, an HMAC key, an AES key.
const seedBytes = 32

// Store keeps secrets, each under a name.
type Store interface {
	// Secret reads the secret of a name, and stores fresh if there is none. All
	// callers get the same one, whoever came first.
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// Names of keys. The number is the key's, for when it is replaced.
const (
	pageName = "page-1"
	cardName = "card-1"
	sealName = "seal-1"
	hookName = "webhook-1"
)

// Ring gives out keys, each read once from its store.
type Ring struct {
	store Store

	mu    sync.Mutex
	known map[string][]byte
}

// New makes a ring over a store.
func New(s Store) *Ring { return &Ring{store: s, known: map[string][]byte{}} }

// seed reads a key. A store that cannot be reached now is asked again the next time.
func (r *Ring) seed(ctx context.Context, name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seed := r.known[name]; seed != nil {
		return seed, nil
	}
	fresh := make([]byte, seedBytes)
	_, _ = rand.Read(fresh) // never fails (crypto/rand)
	seed, err := r.store.Secret(ctx, name, fresh)
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", name, err)
	}
	if len(seed) != seedBytes {
		return nil, fmt.Errorf("the key %s has %d bytes, not %d: its store was changed by somebody else", name, len(seed), seedBytes)
	}
	r.known[name] = seed
	return seed, nil
}

// Code is a keyed digest of what this deployment gave out and wants to recognise when
// it comes back: cursors of listings.
func (r *Ring) Code(ctx context.Context, content []byte) ([]byte, error) {
	seed, err := r.seed(ctx, pageName)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, seed)
	mac.Write(content)
	return mac.Sum(nil), nil
}

// Sealing is the key under which secrets of endpoints are kept, and its name.
func (r *Ring) Sealing(ctx context.Context) (id string, key []byte, err error) {
	key, err = r.seed(ctx, sealName)
	return sealName, key, err
}

// Webhook is the key that signs deliveries, in the form of Standard Webhooks (whsk_ and
// the base64 of an Ed25519 seed).
func (r *Ring) Webhook(ctx context.Context) (string, error) {
	seed, err := r.seed(ctx, hookName)
	if err != nil {
		return "", err
	}
	return "whsk_" + base64.StdEncoding.EncodeToString(seed), nil
}

// keyID names a public key by its content, so that it is the same in every process.
func keyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}
