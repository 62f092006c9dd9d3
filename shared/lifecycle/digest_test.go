package lifecycle_test

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestShortDigest: every text comes back as it was, a digest in 43 characters; one in
// hexadecimal is read as well, and what is damaged is no digest.
func TestShortDigest(t *testing.T) {
	digest := lifecycle.DigestBytes([]byte("key"))
	for _, d := range []lifecycle.ShortDigest{lifecycle.ShortDigest(digest), "", "/", "=", "text", lifecycle.ShortDigest(digest[:62]), "É"} {
		b, err := json.Marshal(d)
		var again lifecycle.ShortDigest
		if err == nil {
			err = json.Unmarshal(b, &again)
		}
		if err != nil || again != d {
			t.Errorf("%q became %s and then %q (%v)", d, b, again, err)
		}
		if d == lifecycle.ShortDigest(digest) && len(b) != 43+2 {
			t.Errorf("a digest is written as %s", b)
		}
	}
	var d lifecycle.ShortDigest
	if err := json.Unmarshal([]byte(`"`+digest+`"`), &d); err != nil || d != lifecycle.ShortDigest(digest) {
		t.Errorf("in hexadecimal it is %q (%v)", d, err)
	}
	for _, bad := range []string{`"x"`, `"!"`, `"` + string(digest[:43]) + `x"`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s was read as %q", bad, d)
		}
	}
}
