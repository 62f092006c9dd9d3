package receipt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// MaxAge is how old a receipt may be when it is presented: whoever approves does
	// so now, not in advance.
	MaxAge = 10 * time.Minute
	// Leeway is how far clocks may differ.
	Leeway = auth.DefaultLeeway
	// maxIssuerBytes bounds the name of an issuer: it is kept with every receipt.
	maxIssuerBytes = 256
)

// Issuer is somebody whose receipts are trusted.
type Issuer struct {
	// Name is the iss of its receipts.
	Name string
	// Audience is what this deployment is called in the aud of its receipts.
	Audience string
	// KeysURL is where its keys are, an https address of a JWK Set (RFC 7517). This or
	// Keys.
	KeysURL string
	// Keys is the JWK Set itself.
	Keys []byte
}

// Verifier verifies the receipts of the configured issuers.
type Verifier struct {
	issuers []Issuer
	keys    map[string]*auth.KeySet
	now     func() time.Time
}

// New makes a verifier, or says everything that is wrong with the issuers. It fetches
// nothing yet; fetch is needed for issuers with a KeysURL.
func New(issuers []Issuer, fetch auth.Fetch, now func() time.Time) (*Verifier, error) {
	v := &Verifier{issuers: slices.Clone(issuers), keys: map[string]*auth.KeySet{}, now: now}
	var problems []error
	if len(issuers) == 0 {
		problems = append(problems, errors.New("no issuers of receipts"))
	}
	for i, is := range issuers {
		wrong := func(text string) { problems = append(problems, fmt.Errorf("issuer %d: %s", i+1, text)) }
		if is.Name == "" || len(is.Name) > maxIssuerBytes {
			wrong("the name, which is the iss of its receipts, needs 1 to 256 bytes")
		}
		if v.keys[is.Name] != nil {
			wrong("is there twice")
		}
		if is.Audience == "" {
			wrong("needs an audience: without it, receipts for any other service would be taken")
		}
		source, address := fetch, is.KeysURL
		switch {
		case (is.KeysURL == "") == (len(is.Keys) == 0):
			wrong("needs the address of its keys, or the keys, and not both")
		case is.KeysURL == "":
			source, address = func(context.Context, string) ([]byte, error) { return is.Keys, nil }, "the configured keys"
			if err := auth.CheckKeys(is.Keys); err != nil {
				wrong(err.Error())
			}
		case !auth.Secure(is.KeysURL):
			wrong("the address of its keys must be an https address without query or fragment")
		}
		v.keys[is.Name] = auth.NewKeySet(is.Name, address, source, now)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return v, nil
}

// Terms are what the agent card says of receipts.
func (v *Verifier) Terms() map[string]any {
	issuers := make([]any, 0, len(v.issuers))
	for _, is := range v.issuers {
		issuers = append(issuers, map[string]any{"issuer": is.Name, "audience": is.Audience})
	}
	algorithms := make([]any, 0, len(auth.Algorithms()))
	for _, a := range auth.Algorithms() {
		algorithms = append(algorithms, string(a))
	}
	return map[string]any{"issuers": issuers, "type": Type, "algorithms": algorithms, "maxAgeSeconds": int64(MaxAge / time.Second), "maxBytes": MaxBytes}
}

// Read says what a receipt claims to be, which nobody has verified: one that was
// accepted is known again by its issuer, jti and digest.
func (v *Verifier) Read(text string) (lifecycle.ReceiptRef, error) {
	t, err := read(text)
	if err != nil {
		return lifecycle.ReceiptRef{}, err
	}
	return t.ref(), nil
}

// Verify holds a receipt against the challenge that a task has opened at an instant.
// It fails with *Invalid when the receipt does not hold, and with auth.ErrUnavailable
// when its issuer's keys cannot be had just now. It checks in this order: form, issuer,
// key, signature, and only then what the receipt says.
func (v *Verifier) Verify(ctx context.Context, text string, of lifecycle.Ref, challenge lifecycle.Challenge, openedAt time.Time) (lifecycle.ReceiptRef, error) {
	t, err := read(text)
	if err != nil {
		return lifecycle.ReceiptRef{}, err
	}
	i := slices.IndexFunc(v.issuers, func(is Issuer) bool { return is.Name == t.claims.Issuer })
	if i < 0 {
		return lifecycle.ReceiptRef{}, invalid(UnknownIssuer)
	}
	key, err := v.keys[v.issuers[i].Name].Find(ctx, t.kid, t.alg)
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return lifecycle.ReceiptRef{}, err
	case err != nil:
		return lifecycle.ReceiptRef{}, invalid(UnknownKey)
	}
	var verified claims
	if err := t.Claims(key, &verified); err != nil {
		return lifecycle.ReceiptRef{}, invalid(WrongSignature)
	}
	t.claims = verified
	if reason := v.wrong(verified, v.issuers[i], of, challenge, openedAt); reason != "" {
		return lifecycle.ReceiptRef{}, invalid(reason)
	}
	return t.ref(), nil
}

// wrong is why what a signed receipt says does not hold here and now, empty when it
// does.
func (v *Verifier) wrong(c claims, from Issuer, of lifecycle.Ref, challenge lifecycle.Challenge, openedAt time.Time) Reason {
	now := v.now()
	at := func(d time.Duration) jwt.NumericDate { return jwt.NumericDate(now.Add(d).Unix()) }
	switch {
	case !c.Audience.Contains(from.Audience), challenge.Audience != "" && !c.Audience.Contains(challenge.Audience):
		return WrongAudience
	case c.Bound.Tenant != of.Tenant:
		return WrongTenant
	case c.Bound.Task != string(of.Task):
		return WrongTask
	case c.Bound.Challenge != challenge.Number:
		return WrongChallenge
	case c.Bound.Action != challenge.Action:
		return WrongAction
	case *c.IssuedAt > at(Leeway), c.NotBefore != nil && *c.NotBefore > at(Leeway):
		return NotYetValid
	case *c.Expiry <= at(-Leeway):
		return Expired
	case *c.IssuedAt < at(-MaxAge-Leeway), int64(*c.IssuedAt) < openedAt.Add(-Leeway).Unix():
		return Stale
	}
	return ""
}
