package keyring_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/seal"
)

const day = 24 * time.Hour

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// keyIDs are those that a key set names.
func keyIDs(t *testing.T, r *keyring.Ring) (ids []string) {
	t.Helper()
	text, err := r.KeySet(t.Context())
	var set jose.JSONWebKeySet
	if err := errors.Join(err, json.Unmarshal(text, &set)); err != nil {
		t.Fatal(err)
	}
	for _, k := range set.Keys {
		ids = append(ids, k.KeyID)
	}
	return ids
}

func hooks(t *testing.T, r *keyring.Ring) (out []string) {
	t.Helper()
	keys, err := r.Webhook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		out = append(out, string(k.Seed()))
	}
	return out
}

// A key is replaced with overlap: what the old one signed is verified by what is
// published, what it sealed opens, and so does what a newer process has sealed for one
// that has not heard of the new key. Only when the new one is old enough do the others go.
func TestRotation(t *testing.T) {
	for name, wrap := range map[string]func(keyring.Store) keyring.Store{
		"as it is": func(s keyring.Store) keyring.Store { return s },
		"wrapped":  func(s keyring.Store) keyring.Store { return keyring.Wrap(s, &service{}) },
	} {
		t.Run(name, func(t *testing.T) {
			store, ctx := &keyring.Memory{}, t.Context()
			old := keyring.New(wrap(store)) // a process that runs on
			oldHooks, oldCards := hooks(t, old), keyIDs(t, old)
			sealed, err := old.Seal(ctx, []byte("secret"), "place")
			if err != nil {
				t.Fatal(err)
			}
			operator := keyring.New(wrap(store))
			for _, use := range []keyring.Use{keyring.Webhook, keyring.Card, keyring.Seal} {
				if n, err := operator.Rotate(ctx, use, begin); n != 2 || err != nil {
					t.Fatalf("%s: key %d, %v", use, n, err)
				}
			}
			fresh := keyring.New(wrap(store))
			newHooks, newCards := hooks(t, fresh), keyIDs(t, fresh)
			if len(newHooks) != 2 || newHooks[1] != oldHooks[0] || newHooks[0] == oldHooks[0] {
				t.Errorf("deliveries are signed with %d keys", len(newHooks))
			}
			if len(newCards) != 2 || newCards[1] != oldCards[0] || newCards[0] == oldCards[0] {
				t.Errorf("published are %q, were %q", newCards, oldCards)
			}
			if s, err := fresh.SignCard(ctx, []byte("{}"), "https://a.example/keys"); err != nil || len(s) != 2 || s[0].Signature == s[1].Signature {
				t.Errorf("%d signatures of a card, %v", len(s), err)
			}
			if plain, err := fresh.Open(ctx, sealed, "place"); err != nil || string(plain) != "secret" {
				t.Errorf("what the old key sealed is %q, %v", plain, err)
			}
			later, err := fresh.Seal(ctx, []byte("later"), "place")
			if err != nil {
				t.Fatal(err)
			}
			if plain, err := old.Open(ctx, later, "place"); err != nil || string(plain) != "later" {
				t.Errorf("what the new key sealed is %q to an older process, %v", plain, err)
			}
			if bytes.Contains(later, []byte("seal-1")) || !bytes.Contains(later, []byte("seal-2")) {
				t.Error("it is sealed with the old key")
			}

			for use, overlap := range keyring.Overlap {
				if n, err := operator.Retire(ctx, use, begin.Add(overlap-1)); err == nil || !strings.Contains(err.Error(), begin.Add(overlap).Format(time.DateOnly)) {
					t.Errorf("%s: %d keys retired too early, %v", use, n, err)
				}
			}
			if n, err := operator.Retire(ctx, keyring.Webhook, begin.Add(7*day)); n != 1 || err != nil {
				t.Errorf("%d retired, %v", n, err)
			}
			if got := hooks(t, keyring.New(wrap(store))); !slices.Equal(got, newHooks[:1]) {
				t.Errorf("%d keys sign", len(got))
			}
			if n, err := operator.Retire(ctx, keyring.Webhook, begin.Add(7*day)); n != 0 || err != nil {
				t.Errorf("again: %d retired, %v", n, err)
			}
			if n, err := operator.Retire(ctx, keyring.Seal, begin.Add(150*day)); n != 1 || err != nil {
				t.Errorf("%d retired, %v", n, err)
			}
			if _, err := keyring.New(wrap(store)).Open(ctx, sealed, "place"); !errors.Is(err, seal.ErrKey) {
				t.Errorf("what a retired key sealed: %v", err)
			}
			// A number is never given again.
			if n, err := operator.Rotate(ctx, keyring.Webhook, begin.Add(8*day)); n != 3 || err != nil {
				t.Errorf("key %d, %v", n, err)
			}
			keys, err := operator.Keys(ctx)
			var list []string
			for _, k := range keys {
				list = append(list, fmt.Sprintf("%s-%d", k.Use, k.Number))
			}
			if want := []string{"page-1", "card-2", "card-1", "seal-2", "webhook-3", "webhook-2"}; err != nil || !slices.Equal(list, want) {
				t.Errorf("keys %q, %v, want %q", list, err, want)
			}
		})
	}
}

// Operators who replace keys at the same time, and of different uses, lose none.
func TestRotationRaces(t *testing.T) {
	store := &keyring.Memory{}
	var all sync.WaitGroup
	for _, use := range []keyring.Use{keyring.Webhook, keyring.Card, keyring.Seal, keyring.Webhook, keyring.Card, keyring.Seal} {
		all.Go(func() {
			for range 5 { // each round may be lost to somebody else
				if _, err := keyring.New(store).Rotate(t.Context(), use, begin); err == nil {
					return
				}
			}
			t.Errorf("%s was not replaced", use)
		})
	}
	all.Wait()
	keys, err := keyring.New(store).Keys(t.Context())
	if err != nil || len(keys) != 1+3*3 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	seen := map[string]bool{}
	for _, k := range keys {
		name := fmt.Sprintf("%s-%d", k.Use, k.Number)
		if seed, err := store.Secret(t.Context(), name, nil); seen[name] || k.Number > 1 && (err != nil || len(seed) != 32) {
			t.Errorf("key %s: %d bytes, %v", name, len(seed), err)
		}
		seen[name] = true
	}
}

// together is a store in which the first two who look for the list of keys find none.
type together struct {
	keyring.Memory

	looked atomic.Int32
	both   chan struct{}
}

// Secret implements keyring.Store.
func (s *together) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	got, err := s.Memory.Secret(ctx, name, fresh)
	if name == "ring" && fresh == nil && s.looked.Load() < 2 {
		if s.looked.Add(1) == 2 {
			close(s.both)
		}
		<-s.both
	}
	return got, err
}

// Two who are the first to replace the same key, in the same second, have made two.
func TestFirstRotations(t *testing.T) {
	store := &together{both: make(chan struct{})}
	var all sync.WaitGroup
	var made [2]int
	for i := range made {
		all.Go(func() {
			var err error
			if made[i], err = keyring.New(store).Rotate(t.Context(), keyring.Webhook, begin); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made[0]+made[1] != 2+3 || made[0] == made[1] {
		t.Errorf("both were told of keys %v, want 2 and 3", made)
	}
}

func TestRotationBounds(t *testing.T) {
	r := keyring.New(&keyring.Memory{})
	for _, use := range []keyring.Use{keyring.Page, "other"} {
		if _, err := r.Rotate(t.Context(), use, begin); err == nil {
			t.Errorf("%s is replaced", use)
		}
		if _, err := r.Retire(t.Context(), use, begin); err == nil {
			t.Errorf("%s is retired", use)
		}
	}
	for n := 2; n <= 4; n++ {
		if got, err := r.Rotate(t.Context(), keyring.Webhook, begin); got != n || err != nil {
			t.Errorf("key %d, %v", got, err)
		}
	}
	if n, err := r.Rotate(t.Context(), keyring.Webhook, begin); err == nil {
		t.Errorf("a fifth key, %d", n)
	}
}

// service wraps by adding itself, counts its calls, and can be away. Its keys differ.
type service struct {
	key     byte
	err     error
	mu      sync.Mutex
	wraps   int
	unwraps int
	seen    []byte // what it was given
}

// Wrap implements keyring.Wrapper.
func (s *service) Wrap(_ context.Context, plain []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wraps++
	s.seen = append(s.seen, plain...)
	out := []byte{s.key}
	for _, b := range plain {
		out = append(out, b^0x5a)
	}
	return out, s.err
}

// Unwrap implements keyring.Wrapper.
func (s *service) Unwrap(_ context.Context, wrapped []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwraps++
	if s.err != nil || len(wrapped) == 0 || wrapped[0] != s.key {
		return nil, errors.Join(s.err, errors.New("wrapped by another key"))
	}
	var out []byte
	for _, b := range wrapped[1:] {
		out = append(out, b^0x5a)
	}
	return out, nil
}
