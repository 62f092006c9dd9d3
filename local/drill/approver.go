package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// What the product calls the approver, itself and its only tenant.
const (
	issuerName = "https://approvals.drill.example"
	audience   = "urn:holdfast:local"
	tenant     = "local"
	keyID      = "k-1"
)

// approver gives out authorization receipts.
type approver struct{ key ed25519.PrivateKey }

// newApprover makes a key, and writes the JWK Set that the product is to trust.
func newApprover(file string) (approver, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return approver{}, err
	}
	set, err := json.Marshal(object{"keys": []object{{"kty": "OKP", "crv": "Ed25519", "kid": keyID, "use": "sig", "alg": "EdDSA", "x": encode(public)}}})
	if err != nil {
		return approver{}, err
	}
	return approver{private}, os.WriteFile(file, set, 0o600)
}

// stranger signs with a key that nobody trusts.
func stranger() (approver, error) {
	_, private, err := ed25519.GenerateKey(nil)
	return approver{private}, err
}

// give signs a receipt for what a task asks for, as its metadata shows it.
func (a approver) give(t task, jti string) (string, error) {
	challenge := t.Metadata.Own.Challenge
	if challenge == nil {
		return "", errors.New("the task shows no challenge")
	}
	now := time.Now().Unix()
	payload, err := json.Marshal(object{
		"iss": issuerName, "aud": audience, "iat": now, "exp": now + 300, "jti": jti,
		extensionURI: object{"tenant": tenant, "task": t.ID, "challenge": challenge.Number, "action": challenge.Action},
	})
	if err != nil {
		return "", err
	}
	header, err := json.Marshal(object{"alg": "EdDSA", "kid": keyID, "typ": "holdfast-receipt+jwt"})
	if err != nil {
		return "", err
	}
	content := encode(header) + "." + encode(payload)
	return content + "." + encode(ed25519.Sign(a.key, []byte(content))), nil
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
