package webhook

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Signer signs as Standard Webhooks 1.0 has it, with Ed25519: a receiver verifies with
// a public key, and holds no secret of ours. It signs with every key that it has.
// A key is replaced in three steps: publish the next one, sign with both for as long
// as receivers keep public keys, drop the old one.
type Signer []ed25519.PrivateKey

// Public are the keys that receivers verify with, in the form of Standard Webhooks, in the
// order of the private ones.
func (s Signer) Public() []string {
	var out []string
	for _, key := range s {
		public, _ := key.Public().(ed25519.PublicKey)
		out = append(out, "whpk_"+base64.StdEncoding.EncodeToString(public))
	}
	return out
}

// Sign is the value of webhook-signature.
func (s Signer) Sign(id string, at time.Time, body []byte) string {
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	var out []string
	for _, key := range s {
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
