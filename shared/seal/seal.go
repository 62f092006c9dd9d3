// Package seal keeps short secrets so that who reads the store in which they lie
// cannot read them (I9).
//
// A sealed value is bound to a place. It opens nowhere else, so that nobody who can
// write to the store moves it to where its content is sent to somebody else. [Keys]
// seals with keys of its own; a key service is another [Sealer].
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
)

const (
	// MaxBytes bounds what is sealed: tokens, not documents. AWS KMS encrypts as much
	// in one call.
	MaxBytes = 4 << 10
	// KeyBytes is the length of a key of AES-256.
	KeyBytes = 32
	// maxKeyIDBytes bounds a key's name, whose length is one byte of the form.
	maxKeyIDBytes = 64
	// form is the first byte of a sealed value: who changes the form changes it.
	form = 1
)

var (
	// ErrKey: a key is malformed, or the one that sealed a value is not among those
	// that are known.
	ErrKey = errors.New("no such sealing key")
	// ErrSealed: the value is damaged, or belongs to another place.
	ErrSealed = errors.New("not a sealed value of this place")
	// ErrTooLong: more than MaxBytes.
	ErrTooLong = errors.New("too long to be sealed")
)

// Sealer seals and opens.
type Sealer interface {
	// Seal makes a value that only Open with the same bound opens.
	Seal(ctx context.Context, plain []byte, bound string) ([]byte, error)
	// Open gives what was sealed. ErrSealed, ErrKey; any other error may pass.
	Open(ctx context.Context, sealed []byte, bound string) ([]byte, error)
}

// Key is a secret with a name. The name stands in every value that it sealed.
type Key struct {
	ID     string
	Secret []byte // KeyBytes random bytes
}

// Keys seals with one key and opens with any that it knows. A key whose turn is over
// stays among the older ones until no value is left that it sealed. With random
// nonces, a key is good for 2^32 values.
type Keys struct {
	current string
	aeads   map[string]cipher.AEAD
}

var _ Sealer = (*Keys)(nil)

// NewKeys takes the key that seals from now on, and those that did before.
func NewKeys(current Key, older ...Key) (*Keys, error) {
	k := &Keys{current: current.ID, aeads: map[string]cipher.AEAD{}}
	for _, key := range append([]Key{current}, older...) {
		if key.ID == "" || len(key.ID) > maxKeyIDBytes || len(key.Secret) != KeyBytes {
			return nil, fmt.Errorf("%w: key %q has a name of 1 to %d bytes and a secret of %d", ErrKey, key.ID, maxKeyIDBytes, KeyBytes)
		}
		if k.aeads[key.ID] != nil {
			return nil, fmt.Errorf("%w: two keys are called %q", ErrKey, key.ID)
		}
		block, err := aes.NewCipher(key.Secret)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		k.aeads[key.ID] = aead
	}
	return k, nil
}

// Seal implements Sealer.
func (k *Keys) Seal(_ context.Context, plain []byte, bound string) ([]byte, error) {
	if len(plain) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLong, len(plain), MaxBytes)
	}
	head := append([]byte{form, byte(len(k.current))}, k.current...)
	body := k.aeads[k.current].Seal(nil, nil, plain, slices.Concat(head, []byte(bound))) //nolint:gosec // G407: this AEAD takes no nonce, it draws one
	return append(head, body...), nil
}

// Open implements Sealer.
func (k *Keys) Open(_ context.Context, sealed []byte, bound string) ([]byte, error) {
	if len(sealed) < 2 || sealed[0] != form || len(sealed) < 2+int(sealed[1]) {
		return nil, ErrSealed
	}
	head, body := sealed[:2+int(sealed[1])], sealed[2+int(sealed[1]):]
	aead, known := k.aeads[string(head[2:])]
	if !known {
		return nil, ErrKey
	}
	plain, err := aead.Open(nil, nil, body, slices.Concat(head, []byte(bound)))
	if err != nil {
		return nil, ErrSealed // the cause says nothing more, on purpose
	}
	return plain, nil
}
