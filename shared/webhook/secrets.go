package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/seal"
)

// Secrets are what a caller wants to see in the requests that it receives. They print
// as nothing, wherever they get to (I9).
type Secrets struct {
	Token       string `json:"-"` // A2A: token
	Credentials string `json:"-"` // A2A: authentication.credentials
}

// kept is the form of Secrets under the seal.
type kept struct {
	Token       string `json:"token,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// Format implements fmt.Formatter, for every verb.
func (Secrets) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secrets]") }

// LogValue implements slog.LogValuer.
func (Secrets) LogValue() slog.Value { return slog.StringValue("[secrets]") }

// ErrSecrets is about a token or credentials that no header can carry.
var ErrSecrets = errors.New("not fit for a header")

// SealSecrets makes the Secrets of an endpoint, nil when there are none. They open for
// this endpoint and this URL only: who can write to the store cannot have them sent
// elsewhere. With another URL they must be sealed again.
func SealSecrets(ctx context.Context, sealer seal.Sealer, at ledger.DueDelivery, url string, s Secrets) ([]byte, error) {
	if s == (Secrets{}) {
		return nil, nil
	}
	if !visible(s.Token) || !visible(s.Credentials) {
		return nil, fmt.Errorf("token or credentials: %w", ErrSecrets)
	}
	plain, err := json.Marshal(kept(s))
	if err != nil {
		return nil, err
	}
	return sealer.Seal(ctx, plain, place(at, url))
}

func openSecrets(ctx context.Context, sealer seal.Sealer, at ledger.DueDelivery, e ledger.Endpoint) (Secrets, error) {
	if len(e.Secrets) == 0 {
		return Secrets{}, nil
	}
	plain, err := sealer.Open(ctx, e.Secrets, place(at, e.URL))
	if err != nil {
		return Secrets{}, err
	}
	var k kept
	if err := json.Unmarshal(plain, &k); err != nil {
		return Secrets{}, seal.ErrSealed // json's error may quote them
	}
	return Secrets(k), nil
}

// place is what an endpoint's secrets are bound to; quoted, so that no two collide.
func place(at ledger.DueDelivery, url string) string {
	return fmt.Sprintf("%q %q %q %q", at.Ref.Tenant, at.Ref.Task, at.ID, url)
}

// visible says whether a header's value carries s as it is: printable ASCII, no space
// around it.
func visible(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}
