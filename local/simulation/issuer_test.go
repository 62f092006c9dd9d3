package simulation_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// issuer gives out authorization receipts, written without the library that verifies
// them.
type issuer struct{ key ed25519.PrivateKey }

func newIssuer(seed byte) issuer {
	return issuer{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

// verifier takes the receipts of an issuer.
type verifier = api.Receipts

func (i issuer) verifier(now func() time.Time) (verifier, error) {
	public, _ := i.key.Public().(ed25519.PublicKey)
	keys := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	return receipt.New([]receipt.Issuer{{Name: "approvals", Audience: "here", Keys: []byte(keys)}}, nil, now)
}

// give signs a receipt.
func (i issuer) give(ref lifecycle.Ref, challenge int, action, audience, jti string) string {
	now := time.Now().Unix()
	claims, _ := json.Marshal(map[string]any{
		"iss": "approvals", "aud": []string{"here", audience}, "iat": now, "exp": now + 300, "jti": jti,
		lifecycle.ExtensionURI: map[string]any{"tenant": ref.Tenant, "task": ref.Task, "challenge": challenge, "action": action},
	})
	text := base64.RawURLEncoding.EncodeToString
	content := text([]byte(`{"alg":"EdDSA","kid":"k","typ":"holdfast-receipt+jwt"}`)) + "." + text(claims)
	return content + "." + text(ed25519.Sign(i.key, []byte(content)))
}
