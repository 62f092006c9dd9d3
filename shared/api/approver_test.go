package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// approver gives out receipts that the world's door takes.
type approver struct {
	w      *world
	signer jose.Signer
	keys   []byte
}

// approving gives a world an approver, and puts it where the pointer leads.
func approving(into **approver) func(*world) {
	return func(w *world) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			w.t.Fatal(err)
		}
		a := &approver{w: w}
		set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k-1"}}})
		if err != nil {
			w.t.Fatal(err)
		}
		if a.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, (&jose.SignerOptions{}).WithType(receipt.Type).WithHeader("kid", "k-1")); err != nil {
			w.t.Fatal(err)
		}
		a.keys = set
		v, err := receipt.New([]receipt.Issuer{{Name: "https://approvals.example.com", Audience: "here", Keys: set}}, nil, w.clock.Now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.config.Receipts = v
		*into = a
	}
}

// give signs a receipt for a challenge of a task, with changes to its claims and to
// what it is bound to.
func (a *approver) give(id string, challenge int, jti string, changes ...object) string {
	now := a.w.clock.Now().Unix()
	bound := object{"tenant": tenant, "task": id, "challenge": challenge, "action": "delete"}
	claims := object{"iss": "https://approvals.example.com", "aud": "here", "iat": now, "exp": now + 300, "jti": jti, lifecycle.ExtensionURI: bound}
	for i, change := range changes {
		maps.Copy([]object{claims, bound}[i], change)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		a.w.t.Fatal(err)
	}
	signed, err := a.signer.Sign(payload)
	if err != nil {
		a.w.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		a.w.t.Fatal(err)
	}
	return text
}

// asking submits a task that waits for an authorization.
func (w *world) asking(c client, messageID string) string {
	w.t.Helper()
	id := c.submit(message(messageID, "do it"))
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	return id
}

// authorize presents a receipt out of band, as somebody who speaks no A2A.
func (c client) authorize(id, text string) answer {
	c.t.Helper()
	r := c.raw(c.t.Context(), http.MethodPost, "/tasks/"+id+"/authorizations", fmt.Sprintf(`{"receipt":%q}`, text))
	r.Header.Del("A2A-Version")
	return c.send(r)
}

func (c client) unauthorized(id, text, reason string) *problem {
	c.t.Helper()
	a := c.authorize(id, text)
	if a.err == nil || a.err.reason != reason || a.status != http.StatusBadRequest {
		c.t.Fatalf("status %d: %.300s, want the reason %s", a.status, a.raw, reason)
	}
	if len(text) > 0 && strings.Contains(string(a.raw), text) {
		c.t.Errorf("the error quotes the receipt: %s", a.raw)
	}
	return a.err
}

// authorizing is a message that brings a receipt.
func authorizing(id, messageID, text string) object {
	return with(replying(id, messageID, "Here it is."), object{"metadata": object{"urn:other": "kept", lifecycle.ExtensionURI: object{"authorization": text}}})
}

// receipts are what the ledger keeps of the receipts of a task.
func (w *world) receipts(id string) (out []lifecycle.ReceiptRef) {
	w.t.Helper()
	entries, err := w.ledger.Entries(w.t.Context(), w.ref(id), 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		ev, err := e.Event()
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.Receipt != nil {
			out = append(out, *ev.Receipt)
		}
	}
	return out
}

// rejected are the reasons that the ledger keeps beside a task.
func (w *world) rejected(id string) (out []lifecycle.Reason) {
	w.t.Helper()
	list, err := w.ledger.Rejections(w.t.Context(), w.ref(id))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		out = append(out, r.Reason)
	}
	return out
}

func stateOf(task object) string { return text(task, "status.state") }
