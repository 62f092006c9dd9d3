package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// receiptAudience is what this server is called in authorization receipts.
const receiptAudience = "urn:holdfast:local"

// issuerTime bounds a request for an issuer's keys, connection included.
const issuerTime = 5 * time.Second

// parseIssuer reads ISS=FILE or ISS=URL.
func parseIssuer(text string) (receipt.Issuer, error) {
	name, at, ok := strings.Cut(text, "=")
	if !ok || name == "" || at == "" {
		return receipt.Issuer{}, errors.New("give it as ISS=FILE or ISS=https://…, such as https://approvals.example.com=keys.json")
	}
	issuer := receipt.Issuer{Name: name, Audience: receiptAudience}
	if strings.HasPrefix(at, "https://") || strings.HasPrefix(at, "http://") {
		issuer.KeysURL = at
		return issuer, nil
	}
	var err error
	if issuer.Keys, err = os.ReadFile(at); err != nil {
		return issuer, fmt.Errorf("the keys of the issuer: %w", err)
	}
	return issuer, nil
}

// verifier verifies the receipts of issuers; nil when there are none.
func verifier(issuers []receipt.Issuer, now func() time.Time) (api.Receipts, error) {
	if len(issuers) == 0 {
		return nil, nil
	}
	v, err := receipt.New(issuers, auth.HTTPFetch(&http.Client{Timeout: issuerTime}), now)
	if err != nil {
		return nil, fmt.Errorf("--receipt-issuer: %w", err)
	}
	return v, nil
}
