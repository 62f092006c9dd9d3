package receipt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// Times that do not fit anything are no times: a number that wraps around would make a
// receipt that is not valid yet one that is, or one without an end.
func TestImpossibleTimes(t *testing.T) {
	for _, claim := range []string{"iat", "nbf", "exp"} {
		for value, want := range map[string]receipt.Reason{
			"1e300": receipt.Malformed, "-1e300": receipt.Malformed, "9223372036854775807": receipt.Malformed, "18446744073709551616": receipt.Malformed,
			"1e18": "", "-1": "", `"1772366400"`: receipt.Malformed, "[1]": receipt.Malformed, "true": receipt.Malformed, "NaN": receipt.Malformed,
		} {
			payload, err := json.Marshal(good(object{claim: "PLACE"}))
			if err != nil {
				t.Fatal(err)
			}
			text := sign(t, "ec", nil, strings.Replace(string(payload), `"PLACE"`, value, 1))
			_, err = newIssuer(t).verifier(t).Verify(t.Context(), text, task, open, openedAt)
			got := reasonOf(t, text, err)
			if want == "" { // a time, long before or after
				want = map[string]receipt.Reason{"iat1e18": receipt.NotYetValid, "nbf1e18": receipt.NotYetValid, "iat-1": receipt.Stale, "exp-1": receipt.Expired}[claim+value]
			}
			if got != want {
				t.Errorf("%s %s: %q, want %q", claim, value, got, want)
			}
		}
	}
}

// What a header asks for beside its algorithm is not done: no key is fetched or taken
// from it, and what it demands to be understood is refused.
func TestHeadersAskForNothing(t *testing.T) {
	i := newIssuer(t)
	for name, header := range map[string]map[jose.HeaderKey]any{
		"an address of keys":     {"jku": "https://evil.example/keys"},
		"an address of a chain":  {"x5u": "https://evil.example/chain"},
		"a key":                  {"jwk": jose.JSONWebKey{Key: signingKeys()["other"].Public()}},
		"a word nobody knows":    {"crit": []string{"holdfast"}, "holdfast": true},
		"a payload that is bare": {"crit": []string{"b64"}, "b64": false},
		"an empty crit":          {"crit": []string{}},
		"bare, and says no more": {"b64": false},
	} {
		text := sign(t, "other", header, good(nil)) // signed by a stranger
		_, err := i.verifier(t).Verify(t.Context(), text, task, open, openedAt)
		if got := reasonOf(t, text, err); got == "" || got == receipt.WrongAudience {
			t.Errorf("%s: %q", name, got)
		}
		header["kid"] = "ed"
		text = sign(t, "ed", header, good(nil)) // signed by the issuer
		_, err = i.verifier(t).Verify(t.Context(), text, task, open, openedAt)
		if got := reasonOf(t, text, err); (got == "") == (header["crit"] != nil || header["b64"] != nil) {
			t.Errorf("%s, by the issuer: %q", name, got)
		}
	}
	if i.fetches > 14*2 {
		t.Errorf("%d fetches", i.fetches)
	}
}

// Only the compact form of one signature is a receipt, and only with the algorithms of
// the list, letter by letter.
func TestOtherForms(t *testing.T) {
	whole := sign(t, "ec", nil, good(nil))
	parts := strings.Split(whole, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	named := func(alg string) string {
		return raw(`{"alg":"`+alg+`","kid":"ec","typ":"holdfast-receipt+jwt"}`, string(payload), parts[2])
	}
	for name, text := range map[string]string{
		"JSON":              `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"general JSON":      `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + parts[2] + `"}]}`,
		"detached":          parts[0] + ".." + parts[2],
		"encrypted":         whole + "." + parts[0] + "." + parts[1],
		"padded":            parts[0] + "=." + parts[1] + "." + parts[2],
		"spaced":            " " + whole,
		"a line feed":       whole + "\n",
		"within another":    raw(`{"alg":"ES256","kid":"ec","typ":"holdfast-receipt+jwt","cty":"JWT"}`, whole, parts[2]),
		"None":              named("None"),
		"es256":             named("es256"),
		"PS256":             named("PS256"),
		"ES512":             named("ES512"),
		"HS512":             named("HS512"),
		"no algorithm":      raw(`{"kid":"ec","typ":"holdfast-receipt+jwt"}`, string(payload), parts[2]),
		"an algorithm list": raw(`{"alg":["ES256"],"kid":"ec","typ":"holdfast-receipt+jwt"}`, string(payload), parts[2]),
		"deep claims":       sign(t, "ec", nil, strings.Repeat("[", 3000)+strings.Repeat("]", 3000)),
		"deep headers":      raw(strings.Repeat("[", 2000)+strings.Repeat("]", 2000), string(payload), parts[2]),
	} {
		_, err := newIssuer(t).verifier(t).Verify(t.Context(), text, task, open, openedAt)
		if got := reasonOf(t, "", err); got != receipt.Malformed {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := newIssuer(t).verifier(t).Verify(t.Context(), raw(`{"alg":"ES256","kid":"ec","typ":"holdfast-receipt+jwt","alg":"none"}`, string(payload), parts[2]), task, open, openedAt); err == nil {
		t.Error("an algorithm that is there twice was taken")
	}
}

// Keys that are too weak, of another curve or for another use verify nothing, even when
// the issuer publishes them under the name that a receipt gives.
func TestUnfitKeys(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]jose.JSONWebKey{
		"another curve":     {Key: p384.Public(), KeyID: "ec", Use: "sig"},
		"for encryption":    {Key: signingKeys()["ec"].Public(), KeyID: "ec", Use: "enc"},
		"another algorithm": {Key: signingKeys()["ec"].Public(), KeyID: "ec", Use: "sig", Algorithm: "ES384"},
		"a shared secret":   {Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "ec", Use: "sig"},
		"a private key":     {Key: signingKeys()["ec"], KeyID: "ec", Use: "sig"},
	} {
		i := newIssuer(t)
		set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key, {Key: signingKeys()["ed"].Public(), KeyID: "ed", Use: "sig"}}}
		if i.keys, err = json.Marshal(set); err != nil {
			t.Fatal(err)
		}
		text := sign(t, "ec", nil, good(nil))
		_, err := i.verifier(t).Verify(t.Context(), text, task, open, openedAt)
		if got := reasonOf(t, text, err); got != receipt.UnknownKey {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An issuer's keys change: the new one works within half a minute, and the old one not
// longer than ten, whatever is signed with it meanwhile; also when the new one has the
// old one's name.
func TestRotation(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier(t)
	verify := func(key, kid string) receipt.Reason {
		text := sign(t, key, map[jose.HeaderKey]any{"kid": kid}, good(object{"iat": i.now.Unix(), "nbf": nil, "exp": i.now.Add(time.Minute).Unix()}))
		_, err := v.Verify(t.Context(), text, task, open, openedAt)
		return reasonOf(t, text, err)
	}
	if got := verify("ed", "ed"); got != "" {
		t.Fatal(got)
	}
	// "other" takes the name of "ed", which was stolen.
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: signingKeys()["other"].Public(), KeyID: "ed", Use: "sig"}}}
	var err error
	if i.keys, err = json.Marshal(set); err != nil {
		t.Fatal(err)
	}
	i.now = i.now.Add(9 * time.Minute)
	if got := verify("ed", "ed"); got != "" {
		t.Errorf("keys are used for ten minutes: %q", got)
	}
	i.now = i.now.Add(time.Minute)
	if got := verify("ed", "ed"); got != receipt.WrongSignature {
		t.Errorf("a withdrawn key after ten minutes: %q", got)
	}
	if got := verify("other", "ed"); got != "" {
		t.Errorf("the new key: %q", got)
	}
	if got := verify("rsa", "rsa"); got != receipt.UnknownKey {
		t.Errorf("a key that went: %q", got)
	}
}

// A receipt is good for one task of one tenant, and for one challenge of it, under
// whichever issuer's name its number stands: the same text is nothing elsewhere.
func TestElsewhere(t *testing.T) {
	v := newIssuer(t).verifier(t)
	text := sign(t, "ec", nil, good(nil))
	later := open
	later.Number++
	for name, c := range map[string]struct {
		of        lifecycle.Ref
		challenge lifecycle.Challenge
		want      receipt.Reason
	}{
		"here":                         {task, open, ""},
		"another task":                 {lifecycle.Ref{Tenant: task.Tenant, Task: "task-2"}, open, receipt.WrongTask},
		"another tenant's task":        {lifecycle.Ref{Tenant: "other", Task: task.Task}, open, receipt.WrongTenant},
		"a challenge that came since":  {task, later, receipt.WrongChallenge},
		"a challenge for another one":  {task, lifecycle.Challenge{Number: open.Number, Action: open.Action, Audience: "somebody else"}, receipt.WrongAudience},
		"the same number, done anew":   {task, lifecycle.Challenge{Number: open.Number, Action: "revoke all grants", Audience: open.Audience}, receipt.WrongAction},
		"a task whose name has spaces": {lifecycle.Ref{Tenant: task.Tenant, Task: task.Task + " "}, open, receipt.WrongTask},
	} {
		_, err := v.Verify(t.Context(), text, c.of, c.challenge, openedAt)
		if got := reasonOf(t, text, err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// An elliptic signature has a twin that holds as well. It is another text, and the same
// receipt: its number is what is used once.
func TestTwinSignature(t *testing.T) {
	text := sign(t, "ec", nil, good(nil))
	twin := twinOf(t, text)
	v := newIssuer(t).verifier(t)
	first, err := v.Verify(t.Context(), text, task, open, openedAt)
	if err != nil {
		t.Fatal(err)
	}
	second, err := v.Verify(t.Context(), twin, task, open, openedAt)
	if err != nil || second.JTI != first.JTI || second.Issuer != first.Issuer || second.Digest == first.Digest {
		t.Errorf("%+v and %+v, %v", first, second, err)
	}
}

// twinOf replaces s of an ES256 signature by n − s.
func twinOf(t *testing.T, text string) string {
	t.Helper()
	parts := strings.Split(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 64 {
		t.Fatalf("%d bytes of a signature, %v", len(raw), err)
	}
	s := new(big.Int).SetBytes(raw[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(raw[32:])
	return parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(raw)
}
