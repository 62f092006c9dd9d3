package ledger_test

import (
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// exported ends the kit's task under a policy that keeps exported tasks for an hour.
func (k *kit) exported() lifecycle.Task {
	k.Helper()
	cmd := submission()
	cmd.Policy.Terms = &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Exported: 3600}}
	_, err := k.sound.Create(k.ctx, k.ref, cmd, source("client"), nil)
	k.must(err)
	_, err = k.do(k.sound, lifecycle.RequestCancel{})
	k.must(err)
	return k.load()
}

// An acknowledgement whose answer was lost, or that arrived twice, is one, and its first instant counts.
func TestLostAcknowledgement(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Commit", fault, 1), func(k *kit) {
				ended := k.exported()
				at := lifecycle.Millis(k.clock.Now())
				h, err := k.faulty.Acknowledge(k.ctx, k.ref, ended.TerminalReceipt())
				k.must(err)
				k.equal("the instant that was answered", h.AckedAt, at)
				k.clock.Advance(time.Minute)
				again, err := k.sound.Acknowledge(k.ctx, k.ref, ended.TerminalReceipt())
				k.must(err)
				k.equal("the instant that counts", again.AckedAt, at)
				k.equal("the expiry", again.ExpiresAt, at.Add(time.Hour))
				k.equal("the entries", len(k.entries()), int(ended.Seq))
			})
		})
	}
}

// Where the endpoints cannot be read nothing is acknowledged: one of them may be owed something.
func TestAcknowledgeNeedsTheEndpoints(t *testing.T) {
	bubble(t, ledgertest.On("EndpointList", ledgertest.FailBefore, 1), func(k *kit) {
		ended := k.exported()
		if _, err := k.faulty.Acknowledge(k.ctx, k.ref, ended.TerminalReceipt()); err == nil {
			t.Error("acknowledged all the same")
		}
		k.equal("the mark", k.load().AckedAt, time.Time{})
	})
}
