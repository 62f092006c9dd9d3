package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// minKeyChars keeps out what can be guessed: a key of 32 base64url characters has 192
// random bits. A hash of a short secret can be reversed by trying.
const minKeyChars = 32

// KeyEntry is one API key as the configuration holds it. A key is random, such as
//
//	openssl rand -base64 32 | tr '+/' '-_' | tr -d '='
//
// and is given to its user once; what is kept is
//
//	printf %s "$KEY" | sha256sum
type KeyEntry struct {
	Tenant string `json:"tenant"`
	// Name is whose key it is, unique within the tenant.
	Name string `json:"name"`
	// SHA256 is the key's digest, 64 hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Scopes are what its user may do; without any it may speak A2A.
	Scopes []Scope `json:"scopes,omitempty"`
	// NotAfter ends it; absent: it has no end.
	NotAfter time.Time `json:"notAfter,omitzero"`
}

// ParseKeys reads a JSON array of entries. It reports every problem.
func ParseKeys(text []byte) ([]KeyEntry, error) {
	var list []KeyEntry
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil || d.More() {
		// The decoder's own words could quote a key that was put here by mistake.
		return nil, errors.New(`not a JSON array of {"tenant", "name", "sha256", "scopes", "notAfter"}`)
	}
	return list, errors.Join(checkKeys(list)...)
}

func checkKeys(list []KeyEntry) (problems []error) {
	if len(list) == 0 {
		problems = append(problems, errors.New("no keys"))
	}
	seen := map[string]int{}
	for i, e := range list {
		wrong := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("key %d: "+format, append([]any{i + 1}, args...)...))
		}
		if !named(e.Tenant) || !named(e.Name) {
			wrong("tenant and name need 1 to %d printable characters", maxNameBytes)
		}
		if sum, err := hex.DecodeString(e.SHA256); err != nil || len(sum) != sha256.Size {
			wrong("sha256 is not 64 hexadecimal digits; it is the digest of the key, never the key")
		}
		for _, s := range e.Scopes {
			if _, err := ParseScopes(string(s)); err != nil || s == "" {
				wrong("unknown scope: the scopes are caller, producer, operator:read, operator:act")
			}
		}
		for _, id := range []string{"name\x00" + e.Tenant + "\x00" + e.Name, "sha256\x00" + strings.ToLower(e.SHA256)} {
			if first, again := seen[id]; again {
				wrong("the same name or sha256 as key %d", first)
			} else {
				seen[id] = i + 1
			}
		}
	}
	return problems
}

// Keys verifies API keys.
type Keys struct {
	entries []keyEntry
	now     func() time.Time
}

type keyEntry struct {
	sum       []byte
	principal Principal
	notAfter  time.Time
}

// NewKeys takes the entries of a configuration.
func NewKeys(list []KeyEntry, now func() time.Time) (*Keys, error) {
	if problems := checkKeys(list); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	k := &Keys{now: now}
	for _, e := range list {
		sum, _ := hex.DecodeString(e.SHA256) // checked above
		may := e.Scopes
		if len(may) == 0 {
			may = []Scope{Caller}
		}
		k.entries = append(k.entries, keyEntry{sum, Principal{Tenant: e.Tenant, Name: "key:" + e.Name, Scopes: may}, e.NotAfter})
	}
	return k, nil
}

// verify compares with every entry, so that the time that it takes tells nothing.
func (k *Keys) verify(key string) (Principal, error) {
	sum := sha256.Sum256([]byte(key))
	match := -1
	for i, e := range k.entries {
		match = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], e.sum), i, match)
	}
	switch {
	case match < 0:
		return Principal{}, refuse(ErrUnauthenticated, "unknown key")
	case len(key) < minKeyChars:
		return Principal{}, refuse(ErrUnauthenticated, "the key is too short to be random")
	case !k.entries[match].notAfter.IsZero() && k.now().After(k.entries[match].notAfter):
		return Principal{}, refuse(ErrUnauthenticated, "the key has expired")
	}
	return k.entries[match].principal, nil
}
