package api

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// principalChars is how much of a digest stands in a name: 128 bits, so that names stay
// within their limit.
const principalChars = 32

// producer is the caller as a source of events: a hash, never the name (I9).
func (c *call) producer() string { return "client:" + c.who.Hash() }

func (c *call) source(messageID string) lifecycle.Source {
	return lifecycle.Source{Producer: c.producer(), EventID: messageID}
}

// submissionKey is what makes a repeated submission the same task (A2A §3.3.1):
// the Idempotency-Key header, or the extension's metadata, or the messageId if the
// agent says so. nil: every submission is a new task.
func (c *call) submissionKey(q request) (*ledger.Key, error) {
	origin, key := "key", c.r.Header.Get("Idempotency-Key")
	if key != "" && (len(key) > lifecycle.MaxKeyBytes || !printable(key)) {
		return nil, refuse(a2a.ErrInvalidParams, "The Idempotency-Key header must have 1 to %d printable bytes.", lifecycle.MaxKeyBytes)
	}
	if key == "" {
		key = q.submissionKey
	}
	if key == "" && c.agent.KeyedByMessageID {
		origin, key = "messageId", q.message.ID
	}
	if key == "" {
		return nil, nil
	}
	return &ledger.Key{
		Tenant: c.who.Tenant,
		Hash:   lifecycle.DigestOf("holdfast-submission-1", c.who.Hash(), c.agent.Name, origin, key),
	}, nil
}
