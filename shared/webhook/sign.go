package webhook

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Key prefixes of Standard Webhooks.
const (
	privatePrefix = "whsk_"
	publicPrefix  = "whpk_"
)

// ErrKey is a signing key that cannot be read. The message does not repeat it.
var ErrKey = errors.New("not a signing key: whsk_ and the base64 of an Ed25519 key, 32 or 64 bytes")

// Signer signs as Standard Webhooks 1.0 has it, with Ed25519: a receiver verifies with
// a public key, and holds no secret of ours. It signs with every key that it has.
// A key is replaced in three steps: publish the next one, sign with both for as long
// as receivers keep public keys, drop the old one.
type Signer struct{ keys []ed25519.PrivateKey }

// NewSigner reads private keys in the form whsk_….
func NewSigner(keys ...string) (*Signer, error) {
	s := &Signer{}
	for _, text := range keys {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, privatePrefix))
		if err != nil || !strings.HasPrefix(text, privatePrefix) || len(b) != ed25519.SeedSize && len(b) != ed25519.PrivateKeySize {
			return nil, ErrKey // base64's error would say where it broke
		}
		key := ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])
		if len(b) == ed25519.PrivateKeySize && !key.Equal(ed25519.PrivateKey(b)) {
			return nil, fmt.Errorf("%w: its halves do not belong together", ErrKey)
		}
		s.keys = append(s.keys, key)
	}
	if len(s.keys) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrKey)
	}
	return s, nil
}

// Public are the keys that receivers verify with, in the form whpk_…, in the order of
// the private ones.
func (s *Signer) Public() []string {
	var out []string
	for _, key := range s.keys {
		public, _ := key.Public().(ed25519.PublicKey)
		out = append(out, publicPrefix+base64.StdEncoding.EncodeToString(public))
	}
	return out
}

// Sign is the value of webhook-signature.
func (s *Signer) Sign(id string, at time.Time, body []byte) string {
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	var out []string
	for _, key := range s.keys {
		out = append(out, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(key, signed)))
	}
	return strings.Join(out, " ")
}

// messageID is the id of an update at an endpoint, on every attempt. It tells nothing
// about tenants, and has no dot.
func messageID(at ledger.DueDelivery, seq uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", at.Ref.Tenant, at.Ref.Task, at.ID, seq))
	return "msg_" + hex.EncodeToString(sum[:16])
}
