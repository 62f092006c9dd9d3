package receipt_test

import (
	"strings"
	"testing"
)

// Whatever is presented, it is refused with a reason that quotes nothing of it, unless
// it is the receipt that the issuer signed.
func FuzzVerify(f *testing.F) {
	i := newIssuer(f)
	v := i.verifier(f)
	text := sign(f, "ec", nil, good(nil))
	for _, seed := range []string{
		"", ".", "..", "...", text, text + "=", text[:len(text)-1], strings.ToUpper(text), text + "." + text,
		sign(f, "ed", nil, "null"), sign(f, "ed", nil, "[]"), sign(f, "ed", nil, `{"urn:holdfast:a2a:durable-task:v1":null}`), sign(f, "ed", nil, binding("challenge", 1e300)),
		raw(`{"alg":"none"}`, `{}`, ""), raw(`{"alg":"ES256","crit":["x"],"x":1,"kid":"ec","typ":"holdfast-receipt+jwt"}`, `{}`, "AA"),
	} {
		f.Add(seed)
	}
	want := strings.Split(text, ".")
	f.Fuzz(func(t *testing.T, given string) {
		_, err := v.Verify(t.Context(), given, task, open, openedAt)
		if reasonOf(t, given, err) != "" {
			return
		}
		// Base64 has spare bits in the last character of a part.
		got := strings.Split(given, ".")
		for n := range want {
			if len(got) != 3 || len(got[n]) != len(want[n]) || got[n][:len(got[n])-1] != want[n][:len(want[n])-1] {
				t.Fatalf("%q was taken", given)
			}
		}
	})
}
