package receipt_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// A good receipt holds, with each kind of key; what is kept of it is not the receipt.
func TestGoodReceipts(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	for name, text := range map[string]string{
		"ES256":             sign(t, "ec", nil, good(nil)),
		"EdDSA":             sign(t, "ed", nil, good(nil)),
		"RS256":             sign(t, "rsa", nil, good(nil)),
		"a long type":       sign(t, "ec", map[jose.HeaderKey]any{"typ": "application/Holdfast-Receipt+JWT"}, good(nil)),
		"without nbf":       sign(t, "ec", nil, good(object{"nbf": nil})),
		"just old enough":   sign(t, "ec", nil, good(object{"iat": noon.Add(-receipt.MaxAge - receipt.Leeway).Unix()})),
		"a clock ahead":     sign(t, "ec", nil, good(object{"iat": noon.Add(receipt.Leeway).Unix(), "nbf": noon.Add(receipt.Leeway).Unix()})),
		"a moment too late": sign(t, "ec", nil, good(object{"exp": noon.Add(-receipt.Leeway + time.Second).Unix()})),
	} {
		got, err := v.Verify(t.Context(), text, task, open, openedAt)
		sum := sha256.Sum256([]byte(text))
		want := lifecycle.ReceiptRef{Challenge: 2, Issuer: issuerName, KeyID: got.KeyID, JTI: "receipt-1", Digest: lifecycle.Digest(hex.EncodeToString(sum[:]))}
		if err != nil || got != want || got.KeyID == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if claimed, err := v.Read(text); err != nil || claimed != got {
			t.Errorf("%s: read as %+v, %v", name, claimed, err)
		}
	}
	if i.fetches != 1 {
		t.Errorf("the keys were fetched %d times", i.fetches)
	}
}

// An issuer whose keys are part of the configuration, and a challenge that is for no
// audience in particular.
func TestConfiguredKeys(t *testing.T) {
	i := newIssuer(t)
	challenge := open
	challenge.Audience = ""
	text := sign(t, "ec", nil, good(object{"iss": "board", "aud": "holdfast"}))
	if got, err := i.verifier(t).Verify(t.Context(), text, task, challenge, openedAt); err != nil || got.Issuer != "board" || i.fetches != 0 {
		t.Errorf("%+v, %v, %d fetches", got, err, i.fetches)
	}
}

// Every replay, every forgery and every fault of form has its own reason.
func TestBadReceipts(t *testing.T) {
	ec := func(c object) string { return sign(t, "ec", nil, c) }
	head := func(name jose.HeaderKey, v any) string {
		return sign(t, "ec", map[jose.HeaderKey]any{name: v}, good(nil))
	}
	claimsText := func() string {
		b, err := json.Marshal(good(nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}()
	twice := strings.Replace(claimsText, `"jti":`, `"jti":"other","jti":`, 1)
	twiceBound := strings.Replace(claimsText, `"challenge":`, `"challenge":1,"challenge":`, 1)
	whole := ec(good(nil))
	parts := strings.Split(whole, ".")
	other := strings.Split(ec(binding("challenge", 3)), ".")
	public, err := x509.MarshalPKIXPublicKey(signingKeys()["ec"].Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want receipt.Reason
	}{
		"none":                      {"", receipt.Missing},
		"too large":                 {ec(good(object{"more": strings.Repeat("x", receipt.MaxBytes)})), receipt.TooLarge},
		"no JWS":                    {"planted-secret-planted-secret", receipt.Malformed},
		"alg none":                  {raw(`{"alg":"none","kid":"ec","typ":"holdfast-receipt+jwt"}`, claimsText, ""), receipt.Malformed},
		"HS256 by the public key":   {hmacSigned(t, public, claimsText), receipt.Malformed},
		"ES384":                     {raw(`{"alg":"ES384","kid":"ec","typ":"holdfast-receipt+jwt"}`, claimsText, "AAAA"), receipt.Malformed},
		"no JSON":                   {sign(t, "ec", nil, "planted-secret-planted-secret"), receipt.Malformed},
		"a claim of another type":   {ec(good(object{"exp": "tomorrow"})), receipt.Malformed},
		"a challenge that is text":  {ec(binding("challenge", "2")), receipt.Malformed},
		"a claim twice":             {sign(t, "ec", nil, twice), receipt.Malformed},
		"a bound claim twice":       {sign(t, "ec", nil, twiceBound), receipt.Malformed},
		"another type":              {head("typ", "JWT"), receipt.WrongType},
		"no type":                   {sign(t, "ec", map[jose.HeaderKey]any{"typ": nil}, good(nil)), receipt.WrongType},
		"no issuer":                 {ec(good(object{"iss": nil})), receipt.Incomplete},
		"no audience":               {ec(good(object{"aud": nil})), receipt.Incomplete},
		"no iat":                    {ec(good(object{"iat": nil})), receipt.Incomplete},
		"no exp":                    {ec(good(object{"exp": nil})), receipt.Incomplete},
		"no jti":                    {ec(good(object{"jti": nil})), receipt.Incomplete},
		"a long jti":                {ec(good(object{"jti": strings.Repeat("j", 129)})), receipt.Incomplete},
		"a jti that cannot be kept": {ec(good(object{"jti": "a\nb"})), receipt.Incomplete},
		"no kid":                    {head("kid", ""), receipt.Incomplete},
		"nothing that it is for":    {ec(good(object{lifecycle.ExtensionURI: nil})), receipt.Incomplete},
		"no tenant":                 {ec(binding("tenant", nil)), receipt.Incomplete},
		"no task":                   {ec(binding("task", nil)), receipt.Incomplete},
		"no challenge":              {ec(binding("challenge", nil)), receipt.Incomplete},
		"no action":                 {ec(binding("action", nil)), receipt.Incomplete},
		"an unknown issuer":         {ec(good(object{"iss": "https://evil.example.com"})), receipt.UnknownIssuer},
		"the issuer with a slash":   {ec(good(object{"iss": issuerName + "/"})), receipt.UnknownIssuer},
		"an unknown key":            {sign(t, "other", nil, good(nil)), receipt.UnknownKey},
		"a key of another kind":     {head("kid", "ed"), receipt.UnknownKey},
		"a key that it brings":      {sign(t, "other", map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: signingKeys()["other"].Public()}}, good(nil)), receipt.UnknownKey},
		"another key under a name":  {sign(t, "other", map[jose.HeaderKey]any{"kid": "ed"}, good(nil)), receipt.WrongSignature},
		"another's content":         {parts[0] + "." + other[1] + "." + parts[2], receipt.WrongSignature},
		"another's signature":       {parts[0] + "." + parts[1] + "." + other[2], receipt.WrongSignature},
		"no signature":              {parts[0] + "." + parts[1] + ".", receipt.WrongSignature},
		"for another service":       {ec(good(object{"aud": []string{"https://else.example.com", open.Audience}})), receipt.WrongAudience},
		"not by who was asked":      {ec(good(object{"aud": []string{audience, "somebody"}})), receipt.WrongAudience},
		"of another issuer":         {ec(good(object{"iss": "board"})), receipt.WrongAudience},
		"for another tenant":        {ec(binding("tenant", "other")), receipt.WrongTenant},
		"for another task":          {ec(binding("task", "task-2")), receipt.WrongTask},
		"for an earlier challenge":  {ec(binding("challenge", 1)), receipt.WrongChallenge},
		"for a later challenge":     {ec(binding("challenge", 3)), receipt.WrongChallenge},
		"for another action":        {ec(binding("action", "revoke 15 grants")), receipt.WrongAction},
		"from the future":           {ec(good(object{"iat": noon.Add(receipt.Leeway + time.Second).Unix()})), receipt.NotYetValid},
		"not yet valid":             {ec(good(object{"nbf": noon.Add(receipt.Leeway + time.Second).Unix()})), receipt.NotYetValid},
		"expired":                   {ec(good(object{"exp": noon.Add(-receipt.Leeway).Unix()})), receipt.Expired},
		"too old":                   {ec(good(object{"iat": noon.Add(-receipt.MaxAge - receipt.Leeway - time.Second).Unix()})), receipt.Stale},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			got, err := i.verifier(t).Verify(t.Context(), c.text, task, open, openedAt)
			if reason := reasonOf(t, c.text, err); reason != c.want || got != (lifecycle.ReceiptRef{}) {
				t.Errorf("%v and %+v, want %s", err, got, c.want)
			}
		})
	}
}

func hmacSigned(t *testing.T, key []byte, payload string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, (&jose.SignerOptions{}).WithType(receipt.Type).WithHeader("kid", "ec"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A receipt that was issued before the challenge was opened is not for it.
func TestOlderThanTheChallenge(t *testing.T) {
	v := newIssuer(t).verifier(t)
	text := sign(t, "ec", nil, good(object{"iat": noon.Add(-5 * time.Minute).Unix()}))
	_, err := v.Verify(t.Context(), text, task, open, noon.Add(-4*time.Minute+time.Second))
	if got := reasonOf(t, text, err); got != receipt.Stale {
		t.Errorf("got %q", got)
	}
	if _, err := v.Verify(t.Context(), text, task, open, noon.Add(-4*time.Minute)); err != nil {
		t.Errorf("within the leeway: %v", err)
	}
}

// A key that is not known is looked for once: an issuer's new key works at once, and
// strangers who choose key IDs cause no more than that.
func TestNewKey(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	verify := func(text string) receipt.Reason {
		_, err := v.Verify(t.Context(), text, task, open, openedAt)
		return reasonOf(t, text, err)
	}
	if got := verify(sign(t, "ec", nil, good(nil))); got != "" {
		t.Fatal(got)
	}
	i.now = i.now.Add(31 * time.Second)
	i.publish(t, "ec", "other")
	if got := verify(sign(t, "other", nil, good(nil))); got != "" || i.fetches != 2 {
		t.Errorf("%q after %d fetches", got, i.fetches)
	}
	for range 3 {
		if got := verify(sign(t, "ed", nil, good(nil))); got != receipt.UnknownKey || i.fetches != 2 {
			t.Errorf("%q after %d fetches", got, i.fetches)
		}
	}
}

// An issuer that cannot be reached makes no receipt invalid: it may be tried again.
func TestUnreachableIssuer(t *testing.T) {
	i := newIssuer(t)
	i.err = errors.New("connection refused")
	_, err := i.verifier(t).Verify(t.Context(), sign(t, "ec", nil, good(nil)), task, open, openedAt)
	if _, refused := errors.AsType[*receipt.Invalid](err); refused || !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// A configuration that would trust too much, or nobody, is refused, all of it at once.
func TestConfiguration(t *testing.T) {
	keys := newIssuer(t).keys
	_, err := receipt.New([]receipt.Issuer{
		{Audience: "a", Keys: keys},
		{Name: "b", Keys: keys},
		{Name: "b", Audience: "a", Keys: keys},
		{Name: "d", Audience: "a"},
		{Name: "e", Audience: "a", Keys: keys, KeysURL: keysURL},
		{Name: "f", Audience: "a", KeysURL: "http://issuer.example.com/keys"},
		{Name: "g", Audience: "a", Keys: []byte(`{"keys":[]}`)},
	}, nil, time.Now)
	if err == nil || strings.Count(err.Error(), "\n") != 6 {
		t.Errorf("got %v", err)
	}
	if _, err := receipt.New(nil, nil, time.Now); err == nil {
		t.Error("a verifier without issuers")
	}
}

// What the card says leads to a receipt that is taken.
func TestTerms(t *testing.T) {
	b, err := json.Marshal(newIssuer(t).verifier(t).Terms())
	want := `{"algorithms":["RS256","ES256","EdDSA"],"issuers":[{"audience":"https://agents.example.com","issuer":"https://approvals.example.com"},{"audience":"holdfast","issuer":"board"}],"maxAgeSeconds":600,"maxBytes":8192,"type":"holdfast-receipt+jwt"}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}
