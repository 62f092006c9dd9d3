// Everything here is real but the issuers' addresses and the clock: keys are made for
// the run, receipts are signed by the library that verifies them.
package receipt_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

const (
	issuerName = "https://approvals.example.com"
	keysURL    = issuerName + "/keys"
	audience   = "https://agents.example.com"
)

var (
	// noon is when these tests take place; the challenge was opened half an hour before.
	noon     = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	openedAt = noon.Add(-30 * time.Minute)

	task = lifecycle.Ref{Tenant: "acme", Task: "task-1"}
	open = lifecycle.Challenge{Number: 2, Action: "revoke 14 grants", Audience: "system-owners", ExpiresAt: noon.Add(time.Hour)}
)

// signingKeys are made once: RSA keys are slow to make.
var signingKeys = sync.OnceValue(func() map[string]crypto.Signer {
	rsaKey, err1 := rsa.GenerateKey(rand.Reader, 2048)
	ecKey, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, err3 := ed25519.GenerateKey(rand.Reader)
	_, other, err4 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil
	}
	return map[string]crypto.Signer{"rsa": rsaKey, "ec": ecKey, "ed": edKey, "other": other}
})

// issuer publishes keys; err answers in their place when it is set.
type issuer struct {
	now     time.Time
	keys    []byte
	err     error
	fetches int
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{now: noon}
	i.publish(t, "rsa", "ec", "ed")
	return i
}

func (i *issuer) publish(t testing.TB, kids ...string) {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, kid := range kids {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: signingKeys()[kid].Public(), KeyID: kid, Use: "sig"})
	}
	var err error
	if i.keys, err = json.Marshal(set); err != nil {
		t.Fatal(err)
	}
}

func (i *issuer) fetch(_ context.Context, address string) ([]byte, error) {
	i.fetches++
	if address != keysURL {
		return nil, errors.New("404")
	}
	return i.keys, i.err
}

func (i *issuer) verifier(t testing.TB) *receipt.Verifier {
	t.Helper()
	v, err := receipt.New([]receipt.Issuer{
		{Name: issuerName, Audience: audience, KeysURL: keysURL},
		{Name: "board", Audience: "holdfast", Keys: i.keys},
	}, i.fetch, func() time.Time { return i.now })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type object = map[string]any

// bound is what a good receipt is for.
func bound() object {
	return object{"tenant": task.Tenant, "task": string(task.Task), "challenge": open.Number, "action": open.Action}
}

// good are the claims of a receipt that holds, with changes; nil takes a claim out.
func good(changes object) object {
	c := object{
		"iss": issuerName, "aud": []string{audience, open.Audience}, "iat": noon.Add(-time.Minute).Unix(), "nbf": noon.Add(-time.Minute).Unix(),
		"exp": noon.Add(5 * time.Minute).Unix(), "jti": "receipt-1", lifecycle.ExtensionURI: bound(), "approvedBy": "alice",
	}
	maps.Copy(c, changes)
	for name, v := range c {
		if v == nil {
			delete(c, name)
		}
	}
	return c
}

// binding are the claims of a receipt with a change in what it is for.
func binding(name string, v any) object {
	b := bound()
	if b[name] = v; v == nil {
		delete(b, name)
	}
	return good(object{lifecycle.ExtensionURI: b})
}

// sign makes a receipt of claims, or of text as it is.
func sign(t testing.TB, key string, header map[jose.HeaderKey]any, payload any) string {
	t.Helper()
	text, ok := payload.(string)
	if !ok {
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	algorithm := map[string]jose.SignatureAlgorithm{"rsa": jose.RS256, "ec": jose.ES256}[key]
	if algorithm == "" {
		algorithm = jose.EdDSA
	}
	o := (&jose.SignerOptions{}).WithType(receipt.Type).WithHeader("kid", key)
	for name, v := range header {
		o.WithHeader(name, v)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: signingKeys()[key]}, o)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// raw puts a receipt together by hand.
func raw(header, payload, signature string) string {
	e := base64.RawURLEncoding.EncodeToString
	return e([]byte(header)) + "." + e([]byte(payload)) + "." + signature
}

// reasonOf is why a receipt was refused, empty when it was not. It checks that the
// error says what to do, is a rejection, and quotes nothing of the receipt.
func reasonOf(t testing.TB, text string, err error) receipt.Reason {
	t.Helper()
	if err == nil {
		return ""
	}
	wrong, ok := errors.AsType[*receipt.Invalid](err)
	if !ok {
		t.Fatalf("%v is no *receipt.Invalid", err)
	}
	rejection, ok := errors.AsType[*lifecycle.Rejection](err)
	want := lifecycle.ReceiptInvalid
	if wrong.Reason == receipt.Missing {
		want = lifecycle.ReceiptRequired
	}
	if !ok || rejection.Reason != want || len(rejection.Detail) < 20 || len(rejection.Detail) > lifecycle.MaxReasonBytes {
		t.Errorf("%v is kept as %+v", err, rejection)
	}
	for part := range strings.SplitSeq(text, ".") {
		plain, _ := base64.RawURLEncoding.DecodeString(part)
		for _, secret := range []string{part, string(plain)} {
			if len(secret) > 12 && strings.Contains(err.Error()+rejection.Detail, secret) {
				t.Errorf("the error quotes the receipt: %v", err)
			}
		}
	}
	return wrong.Reason
}
