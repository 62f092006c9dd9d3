package lifecycle_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestHeadSize: with ordinary names every head is at most 1 KiB, which is what DynamoDB bills as one unit and ARCHITECTURE.md
// allows; the largest possible one is printed.
func TestHeadSize(t *testing.T) {
	const limit = 1 << 10
	uuid := "0195a4b2-1111-7abc-8def-000000000042"
	hash := strings.Repeat("f", 64)
	principal := hash[:32] // as the door gives it, 128 bits
	n := func(size int) string { return strings.Repeat("n", size) }
	ordinary := heads(names{tenant: "acme-production", task: uuid, context: uuid, agent: "accessreview", step: "apply-revocations", principal: principal, policy: "default@1", holder: uuid + "-g12", op: uuid, action: "revoke 14 grants", audience: "system-owners"})
	largest := heads(names{tenant: n(128), task: uuid, context: n(128), agent: n(64), step: n(64), principal: hash, policy: n(64), holder: n(128), op: uuid, action: n(128), audience: n(128)})
	for kind, h := range ordinary {
		size, most := size(t, h), size(t, largest[kind])
		t.Logf("%-10s %4d bytes with ordinary names, %4d with the longest", kind, size, most)
		const digests = 2 * 32 // DynamoDB keeps chain and key in half the bytes of their text
		if size-digests > limit {
			t.Errorf("a head that is %s has %d bytes, the limit is %d", kind, size-digests, limit)
		}
	}
}

type names struct {
	tenant, task, context, agent, step, principal, policy, holder, op, action, audience string
}

// heads are the largest heads that the rules lead to: everything set that can be set together.
func heads(n names) map[string]lifecycle.Head {
	at := start.Add(123 * time.Millisecond)
	live := lifecycle.Head{
		Tenant: n.tenant, Task: a2a.TaskID(n.task), ContextID: n.context, Agent: n.agent, AgentVersion: 999, Principal: n.principal, Policy: n.policy,
		State: lifecycle.Working, StatusAt: at, AcceptedAt: at, LifeEndsAt: at, RetainSecs: 2_592_000, Seq: 9_999, Chain: lifecycle.DigestBytes(nil),
		Step: n.step, Visit: 9_999, CheckpointSeq: 9_999, MessageSeq: 9_999, Attempt: 9, Pauses: 999, Artifacts: 300, Unsealed: 300,
		LeaseSecs: 300, PauseSecs: 2_592_000, FailedSecs: 7_776_000, CanceledSecs: 2_592_000, RejectedSecs: 2_592_000, ExportedSecs: 604_800,
		EntryFence: 99_999, Fence: 99_999, Generation: 9_999, Untaken: 99, DueAt: at, Key: lifecycle.DigestBytes(nil), Op: n.op,
	}
	leased := live
	leased.Holder, leased.LeaseUntil, leased.Grants, leased.NextAt = n.holder, at, 10, at
	leased.Cancel = &lifecycle.CancelMark{Principal: n.principal, At: at}
	paused := live
	paused.State, paused.Pause = lifecycle.AuthRequired, &lifecycle.Pause{Number: 999, DeadlineAt: at, Outcome: lifecycle.Canceled, Named: true}
	paused.Challenge = &lifecycle.Challenge{Number: 999, Action: n.action, Audience: n.audience, ExpiresAt: at}
	ended := live
	ended.State, ended.ExpiresAt, ended.AckedAt, ended.DueAt = lifecycle.Completed, at, at, time.Time{}
	return map[string]lifecycle.Head{"held": leased, "paused": paused, "ended": ended}
}

func size(t *testing.T, h lifecycle.Head) int {
	t.Helper()
	out, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back lifecycle.Head
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); string(again) != string(out) {
		t.Errorf("a head does not survive its JSON:\n%s\n%s", out, again)
	}
	return len(out)
}

// TestAtRest: an execution is told how to go on, and never to wait for no time (I8).
func TestAtRest(t *testing.T) {
	for _, s := range situations() {
		b := s.book(t)
		if b.task.Seq == 0 {
			continue
		}
		now := start.Add(s.at)
		for _, generation := range []uint64{b.task.Generation - 1, b.task.Generation} {
			out, rest := lifecycle.AtRest(b.task.Head, generation, "x", now)
			waits := out.Word == lifecycle.WordWait || out.Word == lifecycle.WordAwait
			switch {
			case waits != (out.Seconds > 0) || (out.Word == lifecycle.WordAwait) != (out.Pause > 0):
				t.Errorf("%s: %+v", s.name, out)
			case b.task.Terminal() != (rest && (out.Word == lifecycle.WordDone || out.Word == lifecycle.WordFailed)) && generation == b.task.Generation:
				t.Errorf("%s: %+v for a task in %s", s.name, out, b.task.State)
			case (out.Word == lifecycle.WordFailed) != (b.task.State == lifecycle.Failed):
				t.Errorf("%s: %+v for a task in %s", s.name, out, b.task.State)
			case generation != b.task.Generation && (!rest || out.Word != lifecycle.WordDone && out.Word != lifecycle.WordFailed):
				t.Errorf("%s: an older generation goes on with %+v", s.name, out)
			}
		}
	}
}
