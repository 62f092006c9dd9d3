package boot

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// readReceipts reads whose authorization receipts are taken; nil for nobody's.
func readReceipts(v *variables, now func() time.Time) api.Receipts {
	text := v.text(receiptIssuers)
	if text == "" {
		return nil
	}
	var list []struct {
		Issuer   string `json:"issuer"`
		JWKSURL  string `json:"jwksUrl"`
		Audience string `json:"audience"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil || d.More() {
		v.wrong(receiptIssuers, `is no JSON array such as [{"issuer":"https://approvals.example.com","jwksUrl":"https://approvals.example.com/keys","audience":"https://agents.example.com"}]`)
		return nil
	}
	issuers := make([]receipt.Issuer, 0, len(list))
	for _, i := range list {
		issuers = append(issuers, receipt.Issuer{Name: i.Issuer, KeysURL: i.JWKSURL, Audience: i.Audience})
	}
	verifier, err := receipt.New(issuers, auth.HTTPFetch(&http.Client{Timeout: issuerTime}), now)
	if err != nil {
		v.wrong(receiptIssuers, "cannot be used: %w", err)
		return nil
	}
	return verifier
}
