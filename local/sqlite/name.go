package sqlite

import (
	"encoding/hex"
	"strings"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// maxPlainName is where names become digests: file systems end at 255 bytes.
const maxPlainName = 200

// encodeName turns any string into the name of one file, so that no two strings
// have the same one, also where the file system does not tell upper from lower
// case or composed from decomposed letters. Lower-case letters, digits and the
// hyphen stand for themselves; every other byte becomes a percent sign and two
// digits. The empty string and what is too long have names that begin like no
// other: a percent sign and a letter that is no hexadecimal digit.
func encodeName(s string) string {
	if s == "" {
		return "%none"
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + hex.EncodeToString([]byte{c}))
		}
	}
	if b.Len() > maxPlainName {
		return "%long-" + string(lifecycle.DigestBytes([]byte(s)))
	}
	return b.String()
}
