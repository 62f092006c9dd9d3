package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A webhook that nobody has signed, or that was changed on its way, is none.
func TestReadsWebhooks(t *testing.T) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := private.Public().(ed25519.PublicKey)
	now := time.Unix(1_772_442_000, 0)
	const body = `{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"},"metadata":{"urn:holdfast:a2a:durable-task:v1":{"sequence":7}}}}`
	signature := func(text string) string {
		return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("msg_a.1772442000."+text)))
	}
	fresh := func() notice {
		h := http.Header{}
		for name, value := range map[string]string{
			"Webhook-Id": "msg_a", "Webhook-Timestamp": "1772442000", "Webhook-Signature": "v1a,AAAA " + signature(body),
			"Holdfast-Sequence": "7", "A2A-Notification-Token": hookToken, "Content-Type": "application/a2a+json",
		} {
			h.Set(name, value)
		}
		return notice{h, []byte(body)}
	}
	if got, err := fresh().read([]ed25519.PublicKey{public}, now); err != nil || got != (told{7, "msg_a", stateCompleted}) {
		t.Errorf("%+v, %v", got, err)
	}
	for want, spoil := range map[string]func(n *notice){
		"signed by nobody":          func(n *notice) { n.header.Set("Webhook-Id", "msg_b") },
		"the sequence":              func(n *notice) { n.header.Del("Holdfast-Sequence") },
		"brings the update 7":       func(n *notice) { n.header.Set("Holdfast-Sequence", "8") },
		"is of":                     func(n *notice) { n.header.Set("Webhook-Timestamp", "1772342000") },
		"the wrong token":           func(n *notice) { n.header.Del("A2A-Notification-Token") },
		"no StreamResponse":         func(n *notice) { n.body = []byte("{}"); n.header.Set("Webhook-Signature", signature("{}")) },
		"of 7 is signed by nobody":  func(n *notice) { n.body = []byte(strings.Replace(body, "COMPLETED", "FAILED", 1)) },
		"webhook of 7 is signed by": func(n *notice) { n.header.Del("Webhook-Signature") },
	} {
		n := fresh()
		spoil(&n)
		if _, err := n.read([]ed25519.PublicKey{public}, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
