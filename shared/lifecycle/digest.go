package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Digest is a SHA-256 in lower-case hexadecimal.
type Digest string

// Valid says whether d is one.
func (d Digest) Valid() bool {
	raw, err := hex.DecodeString(string(d))
	return err == nil && len(raw) == sha256.Size && strings.ToLower(string(d)) == string(d)
}

// DigestBytes is the digest of b.
func DigestBytes(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// DigestJSON is the digest of the canonical JSON of v.
func DigestJSON(v any) (Digest, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return DigestBytes(b), nil
}

// DigestOf hashes texts so that no two lists of texts give the same bytes.
func DigestOf(label string, texts ...string) Digest {
	c := newChain(label)
	for _, s := range texts {
		c = c.str(s)
	}
	return c.sum()
}

// PartContent is what a part's checksum is taken over: the bytes of a text or
// raw part, the canonical JSON of a data part, the address of a URL part.
func PartContent(p *a2a.Part) ([]byte, error) {
	if p == nil {
		return nil, fmt.Errorf("a part that is null")
	}
	switch c := p.Content.(type) {
	case a2a.Text:
		return []byte(c), nil
	case a2a.Raw:
		return c, nil
	case a2a.URL:
		return []byte(c), nil
	case a2a.Data:
		return Canonical(c.Value)
	default:
		return nil, fmt.Errorf("a part without content")
	}
}

// chain accumulates fields so that no two different lists of fields give the
// same bytes: each is preceded by its length (a netstring).
type chain []byte

func newChain(label string) chain {
	const usual = 512 // an entry's envelope
	return make(chain, 0, usual).str(label)
}

func (c chain) str(s string) chain {
	c = append(strconv.AppendInt(c, int64(len(s)), 10), ':')
	return append(c, s...)
}

func (c chain) num(n uint64) chain {
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	c = append(strconv.AppendInt(c, int64(len(digits)), 10), ':')
	return append(c, digits...)
}

func (c chain) sum() Digest { return DigestBytes(c) }
