// Package keyring has the keys that all processes of a deployment share: they are
// made at random by whichever process needs one first, kept in a [Store], and never
// leave the process but as signatures, codes and sealed values.
//
// Each use has keys of its own, so that nothing that was signed for one purpose can be
// passed off for another.
//
// # Replacing a key
//
// [Ring.Rotate] makes the next key of a use, and those before it stay: cards and
// deliveries are signed with all of them, all are published, and what an older one has
// sealed opens. So receivers that know the old key alone and those that know the new one
// alone are both served, and nothing that was sealed is lost. [Ring.Retire] drops the
// older ones, when the newest has been there for long enough ([Overlap]).
//
// A ring is read when a process begins, and again where something was sealed with a key
// that it does not know. So after a rotation the processes that run learn of it one by
// one, and all are right meanwhile.
//
// # Where the keys are
//
// A store holds them as they are, and should be private: files of one user, a table that
// few may read. With [Wrap] it holds them sealed under a root key, and that one wrapped by
// a service that never gives its own key out: who reads the store, or its backups, has
// nothing. One call of the service opens the ring for as long as a process lives.
package keyring

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
)

// seedBytes is the length of every key: an Ed25519 seed, an HMAC key, an AES key.
const seedBytes = 32

// Store keeps secrets, each under a name.
type Store interface {
	// Secret reads the secret of a name, and stores fresh if there is none. All
	// callers get the same one, whoever came first. Without fresh nothing is stored:
	// nil if there is none.
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
	// Replace puts a secret in the place of another one, if that one is there still.
	Replace(ctx context.Context, name string, old, fresh []byte) (replaced bool, err error)
}

// Use is what a key is for.
type Use string

// Uses.
const (
	// Page keys recognise cursors of listings. They are not replaced: a cursor gives
	// nobody anything.
	Page Use = "page"
	// Card keys sign agent cards.
	Card Use = "card"
	// Seal keys seal what webhooks' receivers are to be sent.
	Seal Use = "seal"
	// Webhook keys sign deliveries.
	Webhook Use = "webhook"
)

// uses are all there are.
var uses = []Use{Page, Card, Seal, Webhook}

// Ring gives out keys, each read once from its store.
type Ring struct {
	store Store

	mu    sync.Mutex
	known map[string][]byte
	list  *list // nil: not read yet
}

// New makes a ring over a store.
func New(s Store) *Ring { return &Ring{store: s, known: map[string][]byte{}} }

// keyName is a key's name in its store.
func keyName(use Use, number int) string { return fmt.Sprintf("%s-%d", use, number) }

// seed reads a key. A store that cannot be reached now is asked again the next time.
func (r *Ring) seed(ctx context.Context, name string) ([]byte, error) {
	if seed := r.known[name]; seed != nil {
		return seed, nil
	}
	seed, err := r.store.Secret(ctx, name, random())
	if err != nil {
		return nil, fmt.Errorf("the key %s: %w", name, err)
	}
	if len(seed) != seedBytes {
		return nil, fmt.Errorf("the key %s has %d bytes, not %d: its store was changed by somebody else, or its keys are wrapped and the key service is not configured", name, len(seed), seedBytes)
	}
	r.known[name] = seed
	return seed, nil
}

func random() []byte {
	fresh := make([]byte, seedBytes)
	_, _ = rand.Read(fresh) // never fails (crypto/rand)
	return fresh
}

// named is a key with its name.
type named struct {
	name string
	seed []byte
}

// keys are those of a use, the newest first.
func (r *Ring) keys(ctx context.Context, use Use) ([]named, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		l, err := readList(ctx, r.store)
		if err != nil {
			return nil, err
		}
		r.list = &l
	}
	var out []named
	for _, k := range r.list.of(use) {
		name := keyName(use, k.Number)
		seed, err := r.seed(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, named{name, seed})
	}
	return out, nil
}

// again has the list read anew, the next time.
func (r *Ring) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// Code is a keyed digest of what this deployment gave out and wants to recognise when
// it comes back: cursors of listings.
func (r *Ring) Code(ctx context.Context, content []byte) ([]byte, error) {
	keys, err := r.keys(ctx, Page)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, keys[0].seed)
	mac.Write(content)
	return mac.Sum(nil), nil
}
