package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/gowebpki/jcs"
)

// Digest is a SHA-256 in lower-case hexadecimal.
type Digest string

// DigestBytes is the digest of b.
func DigestBytes(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}

// Canonical is the canonical JSON of v (RFC 8785). Numbers are IEEE doubles, as
// everywhere in A2A's JSON: integers beyond 2^53 lose digits.
func Canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	out, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canonical form of %T: %w", v, err)
	}
	return out, nil
}

// DigestJSON is the digest of the canonical JSON of v.
func DigestJSON(v any) (Digest, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return DigestBytes(b), nil
}

// PartContent is what a part's checksum is taken over: the bytes of a text or
// raw part, the canonical JSON of a data part, the address of a URL part.
func PartContent(p *a2a.Part) ([]byte, error) {
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
type chain struct{ h hash.Hash }

func newChain(label string) chain {
	c := chain{sha256.New()}
	c.str(label)
	return c
}

func (c chain) str(s string) {
	var buf [20]byte
	c.h.Write(append(strconv.AppendInt(buf[:0], int64(len(s)), 10), ':'))
	c.h.Write([]byte(s))
}

func (c chain) num(n uint64) { c.str(strconv.FormatUint(n, 10)) }

func (c chain) sum() Digest { return Digest(hex.EncodeToString(c.h.Sum(nil))) }
