package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFresh is how long keys are used without looking whether they are still the
	// issuer's: a withdrawn key works at most that long.
	keysFresh = 10 * time.Minute
	// keysUsable is how long they are used when the issuer cannot be reached.
	keysUsable = 12 * time.Hour
	// rolloverPause is how long a token with an unknown key does not cause another
	// fetch: strangers choose key IDs.
	rolloverPause = 30 * time.Second
	// failurePause is the same after a fetch that failed.
	failurePause = 2 * time.Second
	// fetchTime bounds a fetch, which a caller waits for.
	fetchTime = 5 * time.Second
	// minRSABits is what RFC 7518, 3.3 asks for.
	minRSABits = 2048
)

// KeySet keeps the public keys of an issuer (RFC 7517) and gets them anew when they
// are old, or when a signature names one that is not among them.
type KeySet struct {
	issuer, address string
	fetch           Fetch
	now             func() time.Time

	mu       sync.Mutex
	keys     []jose.JSONWebKey
	fetched  time.Time // when keys came
	tried    time.Time // when they were last asked for
	failure  error     // of the last fetch
	fetching chan struct{}
}

// NewKeySet is the key set of an issuer, which is at an address; without one it is
// where the issuer's /.well-known/openid-configuration says. It fetches nothing yet.
func NewKeySet(issuer, address string, fetch Fetch, now func() time.Time) *KeySet {
	return &KeySet{issuer: issuer, address: address, fetch: fetch, now: now}
}

// Find is the key that the header of a signature names, for one of [Algorithms]. It
// fails with ErrUnauthenticated for a key that the issuer does not have, and with
// ErrUnavailable while that cannot be known.
func (s *KeySet) Find(ctx context.Context, kid, alg string) (any, error) {
	key, due := s.look(kid, alg)
	if key == nil || due {
		if err := s.refresh(ctx); err != nil {
			return nil, refuse(ErrUnavailable, "gave up waiting for the issuer's keys")
		}
		key, _ = s.look(kid, alg)
	}
	if key != nil {
		return key, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return nil, refuse(ErrUnavailable, "the issuer's keys cannot be fetched: "+s.failure.Error())
	}
	return nil, refuse(ErrUnauthenticated, "unknown key")
}

// look searches the keys that there are, and says whether they should be fetched.
func (s *KeySet) look(kid, alg string) (key any, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.now().Sub(s.fetched)
	if s.fetched.IsZero() || age >= keysUsable {
		return nil, true
	}
	var match []jose.JSONWebKey
	for _, k := range s.keys {
		if fits(k, alg) && (kid == "" || k.KeyID == kid) {
			match = append(match, k)
		}
	}
	if len(match) > 0 && (kid != "" || len(match) == 1) { // a token need not name the only key
		key = match[0].Key
	}
	return key, age >= keysFresh
}

// fits says whether a key is one that the algorithm takes, and meant for signatures.
func fits(k jose.JSONWebKey, alg string) bool {
	if k.Use != "" && k.Use != "sig" || k.Algorithm != "" && k.Algorithm != alg || !k.Valid() {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return alg == string(jose.RS256) && key.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return alg == string(jose.ES256) && key.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return alg == string(jose.EdDSA)
	}
	return false
}

// refresh fetches the keys, once for all who wait, unless that was just done. The
// error is the caller's, who waits no longer.
func (s *KeySet) refresh(ctx context.Context) error {
	s.mu.Lock()
	pause := rolloverPause
	if s.failure != nil {
		pause = failurePause
	}
	running := s.fetching
	if now := s.now(); running == nil && (s.tried.IsZero() || now.Sub(s.tried) >= pause) {
		running = make(chan struct{})
		s.fetching, s.tried = running, now
		go s.load(context.WithoutCancel(ctx), running)
	}
	s.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load replaces the keys. A document without usable keys is a failure: the old keys
// stay.
func (s *KeySet) load(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	keys, err := s.get(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure = err; err == nil {
		s.keys, s.fetched = keys, s.now()
	}
	s.fetching = nil
	close(done)
}

func (s *KeySet) get(ctx context.Context) ([]jose.JSONWebKey, error) {
	address := s.address
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	b, err := s.fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	return parseKeySet(b)
}

// discover asks the issuer where its keys are.
func (s *KeySet) discover(ctx context.Context) (string, error) {
	b, err := s.fetch(ctx, discovery(s.issuer))
	if err != nil {
		return "", err
	}
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"` //nolint:tagliatelle // OpenID Connect Discovery 1.0, 3
	}
	if len(b) > maxDocumentBytes || json.Unmarshal(b, &about) != nil {
		return "", errors.New("the issuer's configuration cannot be read")
	}
	if about.Issuer != s.issuer {
		return "", errors.New("the issuer's configuration is another issuer's")
	}
	if !Secure(about.Keys) {
		return "", errors.New("the issuer's jwks_uri is no https address")
	}
	return about.Keys, nil
}

// CheckKeys says why a JWK Set has no key that can be used, nil if it has one.
func CheckKeys(document []byte) error {
	_, err := parseKeySet(document)
	return err
}

// parseKeySet keeps the keys that can be used; a kind of key that is not known here
// does not spoil the others (RFC 7517, 5).
func parseKeySet(b []byte) ([]jose.JSONWebKey, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if len(b) > maxDocumentBytes {
		return nil, errors.New("the key set is larger than 256 KiB")
	}
	if err := json.Unmarshal(b, &document); err != nil {
		return nil, errors.New("the key set cannot be read")
	}
	var keys []jose.JSONWebKey
	for _, raw := range document.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && k.IsPublic() {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the issuer's %d keys can be used", len(document.Keys))
	}
	return keys, nil
}
