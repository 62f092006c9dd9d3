package blobs

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// maxKeyBytes is what S3 takes as a key (Naming Amazon S3 objects, user guide).
const maxKeyBytes = 1024

// prefixOf is where a task's blobs are. It ends with a slash, which no name
// contains, so no task's prefix begins another's.
func prefixOf(ref lifecycle.Ref) string {
	return encodeName(ref.Tenant) + "/" + encodeName(string(ref.Task)) + "/"
}

func keyOf(ref lifecycle.Ref, digest lifecycle.Digest) (string, error) {
	if !digest.Valid() {
		return "", fmt.Errorf("%q is no digest of a blob", digest)
	}
	k := prefixOf(ref) + string(digest)
	if len(k) > maxKeyBytes {
		return "", fmt.Errorf("a key of %d bytes for a blob of task %s, S3 takes %d", len(k), ref, maxKeyBytes)
	}
	return k, nil
}

// encodeName turns any string into letters, digits, hyphens and underscores, so
// that no two strings have the same name: other bytes become an underscore and
// two digits. Characters that proxies or tools might rewrite do not occur. The
// empty name is a lone underscore.
func encodeName(s string) string {
	if s == "" {
		return "_"
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '-', '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			b.WriteByte(c)
		default:
			b.WriteString("_" + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}
