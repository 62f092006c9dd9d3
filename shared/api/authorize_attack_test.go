package api_test

import (
	"crypto/elliptic"
	"encoding/base64"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// twoIssuers trusts a second issuer, which signs with the first one's key.
func twoIssuers(a **approver) func(*world) {
	return func(w *world) {
		v, err := receipt.New([]receipt.Issuer{
			{Name: "https://approvals.example.com", Audience: "here", Keys: (*a).keys}, {Name: "board", Audience: "here", Keys: (*a).keys},
		}, nil, w.clock.Now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.config.Receipts = v
	}
}

// A jti is its issuer's, and remembered with the task: another issuer may have it, and so
// may a receipt for another task. In one task it works once for each issuer.
func TestNumbersOfReceipts(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a), twoIssuers(&a))
	c := w.client(t, false)
	id, other := w.asking(c, "m-1"), w.asking(c, "m-2")
	taken := func(id, text string) {
		t.Helper()
		if got := c.authorize(id, text); got.status != http.StatusOK || stateOf(got.result) != "TASK_STATE_WORKING" {
			t.Fatalf("%d %s", got.status, got.raw)
		}
	}
	taken(id, a.give(id, 1, "j"))
	taken(other, a.give(other, 1, "j"))
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	c.unauthorized(id, a.give(id, 2, "j"), "AUTHORIZATION_RECEIPT_INVALID")
	taken(id, a.give(id, 2, "j", object{"iss": "board"}))
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	for _, issuer := range []string{"board", "https://approvals.example.com"} {
		c.unauthorized(id, a.give(id, 3, "j", object{"iss": issuer}), "AUTHORIZATION_RECEIPT_INVALID")
	}
	taken(id, a.give(id, 3, "k"))
	var issuers []string
	for _, kept := range w.receipts(id) {
		issuers = append(issuers, kept.Issuer+" "+kept.JTI)
	}
	if want := []string{"https://approvals.example.com j", "board j", "https://approvals.example.com k"}; !slices.Equal(issuers, want) {
		t.Errorf("kept %q, want %q", issuers, want)
	}
}

// The twin of an elliptic signature is the same receipt in another text: it closes a
// challenge that is open, and nothing after that.
func TestTwinOfAReceipt(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	text := a.give(id, 1, "j")
	parts := strings.Split(text, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	s := new(big.Int).SetBytes(raw[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(raw[32:])
	twin := parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(raw)
	if got := c.authorize(id, twin); got.status != http.StatusOK {
		t.Fatalf("%s", got.raw)
	}
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	for range 2 {
		c.unauthorized(id, text, "AUTHORIZATION_RECEIPT_INVALID")
		if again := c.authorize(id, twin); again.status != http.StatusOK || stateOf(again.result) != "TASK_STATE_AUTH_REQUIRED" {
			t.Errorf("the same text again: %d %s", again.status, again.raw)
		}
	}
	if n := len(w.receipts(id)); n != 1 {
		t.Errorf("%d receipts were kept", n)
	}
}

// Whatever is sent in a receipt's place, however long or odd, out of band and in band:
// the answer is an error of the caller's, it quotes nothing, and the task waits on.
func TestOddReceipts(t *testing.T) {
	var a *approver
	both(t, []func(*world){approving(&a)}, func(w *world, c client) {
		t := w.t
		id := w.asking(c, "m-1")
		plain := client{t: t, base: w.server.URL, http: c.http, head: c.head}
		good := a.give(id, 1, "j")
		for name, text := range map[string]string{
			"a megabyte":     strings.Repeat("planted-secret", 1<<16),
			"many parts":     strings.Repeat("a.", 4000),
			"a line feed":    good[:20] + "\n" + good[20:],
			"two of them":    good + "," + good,
			"with a scheme":  "Bearer " + good,
			"its payload":    strings.Split(good, ".")[1],
			"not yet":        a.give(id, 1, "j", object{"nbf": w.clock.Now().Unix() + 3600}),
			"from tomorrow":  a.give(id, 1, "j", object{"iat": w.clock.Now().Unix() + 86400, "exp": w.clock.Now().Unix() + 90000}),
			"of before":      a.give(id, 1, "j", object{"iat": w.clock.Now().Unix() - 3600}),
			"of no end":      a.give(id, 1, "j", object{"exp": nil}),
			"of two tenants": a.give(id, 1, "j", nil, object{"tenant": []string{tenant, "other"}}),
		} {
			for _, p := range []*problem{
				plain.unauthorized(id, text, "AUTHORIZATION_RECEIPT_INVALID"),
				c.refused("SendMessage", object{"message": authorizing(id, "m-3", text)}, "AUTHORIZATION_RECEIPT_INVALID"),
			} {
				if strings.Contains(p.message, "planted") || len(p.message) > 400 {
					t.Errorf("%s: %s", name, p.message)
				}
			}
		}
		if strings.Contains(w.logged(), "planted-secret") {
			t.Error("a receipt was logged")
		}
		if head := w.head(id); head.State != lifecycle.AuthRequired || len(w.receipts(id)) != 0 {
			t.Errorf("the head is %+v", head)
		}
		if got := plain.authorize(id, good); got.status != http.StatusOK {
			t.Errorf("the good one in the end: %s", got.raw)
		}
	})
}
