package receiver

import (
	"context"
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verify refuses what the sender has not signed now. It returns the webhook-id.
func (k *Keys) verify(ctx context.Context, h http.Header, body []byte) (id string, err error) {
	var signature, stamp string
	for name, into := range map[string]*string{"Webhook-Id": &id, "Webhook-Timestamp": &stamp, "Webhook-Signature": &signature} {
		values := h.Values(name)
		if len(values) != 1 || values[0] == "" {
			return "", refusal{http.StatusUnauthorized, fmt.Errorf("it has %d times %s", len(values), name)}
		}
		*into = values[0]
	}
	if len(id) > maxIDBytes || strings.Contains(id, ".") { // which separates what is signed
		return "", refusal{http.StatusUnauthorized, errors.New("its webhook-id is none")}
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return "", refusal{http.StatusUnauthorized, errors.New("its webhook-timestamp is none")}
	}
	if off := k.now().Sub(time.Unix(seconds, 0)); off > Tolerance || off < -Tolerance {
		return "", refusal{http.StatusUnauthorized, fmt.Errorf("it was signed %s ago", off.Round(time.Second))}
	}
	signed := append([]byte(id+"."+stamp+"."), body...)
	signatures := parse(signature)
	// Once with what we have, and if nothing fits, once more with what is published now.
	for _, old := range []time.Duration{keysFor, fetchEvery} {
		list, err := k.atMost(ctx, old)
		if err != nil {
			return "", refusal{http.StatusServiceUnavailable, err}
		}
		if fits(list, signed, signatures) {
			return id, nil
		}
	}
	return "", refusal{http.StatusUnauthorized, errors.New("it is not signed by a key of the sender")}
}

// parse reads the signatures of a header, separated by spaces, of the kind that we can
// verify: v1a is Ed25519. v1 would need a secret that we share with the sender.
func parse(header string) (out [][]byte) {
	for part := range strings.FieldsSeq(header) {
		text, is := strings.CutPrefix(part, "v1a,")
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if is && err == nil && len(raw) == ed25519.SignatureSize && len(out) < maxSignatures {
			out = append(out, raw)
		}
	}
	return out
}

func fits(keys []ed25519.PublicKey, signed []byte, signatures [][]byte) bool {
	for _, s := range signatures {
		for _, key := range keys {
			if ed25519.Verify(key, signed, s) {
				return true
			}
		}
	}
	return false
}

// meant says whether a request carries the token of our own configuration.
func meant(h http.Header, token string) bool {
	return token == "" || subtle.ConstantTimeCompare([]byte(h.Get("A2A-Notification-Token")), []byte(token)) == 1
}
