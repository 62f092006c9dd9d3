package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile is a JWK Set as an issuer's operator hands it over.
func keyFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func someKeys(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k-1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
}

// The issuers of the command line are on the card, with the audience that their
// receipts need; without any, the card says that none are taken.
func TestReceiptIssuersOnTheCard(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--receipt-issuer", "https://approvals.example.com=" + keyFile(t, someKeys(t)), "--receipt-issuer", "board=https://board.example.com/keys"},
			[]string{`"issuer":"https://approvals.example.com"`, `"issuer":"board"`, `"audience":"` + receiptAudience + `"`}},
		{nil, []string{"No authorization receipts are taken here."}},
	} {
		ctx, stop := context.WithCancel(t.Context())
		p := launch(ctx, t, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir()}, c.args...)...)
		status, card := p.call(http.MethodGet, "/.well-known/agent-card.json", "")
		for _, want := range c.want {
			if status != http.StatusOK || !strings.Contains(card, want) {
				t.Errorf("with %v: %d %s, want %s", c.args, status, card, want)
			}
		}
		stop()
		if err := p.wait(); err != nil {
			t.Error(err)
		}
	}
}

// An issuer that could not be trusted is a problem of the command line, and says which.
func TestWrongReceiptIssuers(t *testing.T) {
	good := keyFile(t, someKeys(t))
	for issuer, want := range map[string]string{
		"approvals":                               "ISS=FILE",
		"=" + good:                                "ISS=FILE",
		"approvals=":                              "ISS=FILE",
		"approvals=/nowhere/keys.json":            "no such file",
		"approvals=http://example.com/keys":       "https address",
		"approvals=" + keyFile(t, "{}"):           "can be used",
		"approvals=" + keyFile(t, "no JSON"):      "cannot be read",
		strings.Repeat("a", 257) + "=" + good:     "256 bytes",
		"approvals=https://user:p@example.com/ks": "https address",
	} {
		err := run(t.Context(), []string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--receipt-issuer", issuer}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", issuer, err, want)
		}
	}
}
