package policy_test

import (
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// TestRetentionOutlivesTheLadder: the last attempt at a webhook is over before its task is gone: after every end, under
// every shipped policy, under the shortest retention that a document may have, and once the export was acknowledged.
func TestRetentionOutlivesTheLadder(t *testing.T) {
	const (
		late   = time.Minute // a sweep may come so much later than an attempt is due
		unseen = webhook.CheckMost
	)
	ladder := unseen + webhook.Timeout
	for _, wait := range webhook.Ladder {
		ladder += wait + late + webhook.Timeout
	}
	t.Logf("a webhook that takes nothing is given up after %s", ladder)
	retentions := map[string]time.Duration{"the shortest that a document may have": lifecycle.MinRetention, "that of old tasks": lifecycle.DefaultRetention}
	s := shipped(t)
	for _, id := range s.IDs() {
		d, err := s.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		judged := d.Policy()
		for _, state := range []struct {
			name string
			is   time.Duration
		}{
			{"completed", judged.RetentionOf(lifecycle.Completed)}, {"failed", judged.RetentionOf(lifecycle.Failed)},
			{"canceled", judged.RetentionOf(lifecycle.Canceled)}, {"rejected", judged.RetentionOf(lifecycle.Rejected)},
		} {
			retentions[id+", "+state.name] = state.is
		}
		retentions[id+", acknowledged while a webhook lacks something"] = acknowledgedFor(t, d)
	}
	for what, is := range retentions {
		if is < ladder {
			t.Errorf("%s: %s, and webhooks are tried for %s", what, is, ladder)
		}
	}
}

// acknowledgedFor is how long a task is kept that was acknowledged as soon as it had ended.
func acknowledgedFor(t *testing.T, d policy.Document) time.Duration {
	t.Helper()
	judged := d.Policy()
	h := lifecycle.Head{
		State: lifecycle.Completed, StatusAt: noon, Seq: 3, Chain: "c", ExpiresAt: noon.Add(judged.RetentionOf(lifecycle.Completed)), ExportedSecs: judged.Terms.Seconds.Exported,
	}
	acked, err := lifecycle.Acknowledge(h, h.TerminalReceipt(), true, noon)
	if err != nil {
		t.Fatal(err)
	}
	return acked.ExpiresAt.Sub(noon)
}
