package ledgertest_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// untidy writes three tasks of two commits of four entries each.
func untidy(t *testing.T, l ledger.Ledger) {
	t.Helper()
	clock := ledgertest.NewClock()
	a := &ledger.Authority{Ledger: l, Now: clock.Now, NewID: a2a.NewMessageID}
	say := func() *a2a.Message { return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("on it")) }
	for range 3 {
		res, err := a.Create(t.Context(), lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}, lifecycle.Submit{
			ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Policy: lifecycle.DefaultPolicy(), Message: say(),
		}, lifecycle.Source{Producer: "client"}, nil)
		if err == nil {
			res, err = a.Do(t.Context(), res.Task, lifecycle.Grant{Holder: "holder", Generation: 1, Lease: 1, Grace: 1}, lifecycle.Source{}, ledger.Extra{})
		}
		for range 2 {
			if err == nil {
				report := lifecycle.Report{Holder: "holder", Fence: 1, Verb: lifecycle.VerbSubStep}
				for range 4 {
					report.Updates = append(report.Updates, lifecycle.Update{Message: say()})
				}
				res, err = a.Do(t.Context(), res.Task, report, lifecycle.Source{Holder: "holder", Fence: 1}, ledger.Extra{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func positions(t *testing.T, l ledger.Ledger, limit int) (all []ledger.Change) {
	t.Helper()
	after := ""
	for {
		page, err := l.Changes(t.Context(), after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Position
	}
}

// The untidy feed loses and doubles nothing, keeps each task's commits in order,
// and does mix tasks and the items of a commit.
func TestReordered(t *testing.T) {
	inCommit, acrossTasks := 0, 0
	for seed := range uint64(20) {
		l := ledgertest.NewReordered(ledgertest.NewMemory(), seed)
		untidy(t, l)
		all := positions(t, l, 7)
		if len(all) != 3*(2+8) {
			t.Fatalf("seed %d: %d items", seed, len(all))
		}
		seen, done := map[lifecycle.Ref]map[uint64]bool{}, map[lifecycle.Ref]string{}
		for i, c := range all {
			if seen[c.Ref] == nil {
				seen[c.Ref] = map[uint64]bool{}
			}
			if seen[c.Ref][c.Entry.Seq] {
				t.Fatalf("seed %d: entry %d comes twice", seed, c.Entry.Seq)
			}
			if done[c.Ref] != c.Entry.OpID { // a new commit: the ones before are complete
				for seq := range c.Entry.Seq - min(c.Entry.Seq, 4) {
					if seq > 0 && !seen[c.Ref][seq] {
						t.Fatalf("seed %d: entry %d before entry %d of an earlier commit", seed, c.Entry.Seq, seq)
					}
				}
				done[c.Ref] = c.Entry.OpID
			}
			if c.Entry.Seq > 1 && !seen[c.Ref][c.Entry.Seq-1] {
				inCommit++
			}
			if i > 0 && all[i-1].Ref != c.Ref && len(seen[c.Ref]) > 0 {
				acrossTasks++
			}
			seen[c.Ref][c.Entry.Seq] = true
		}
		for i, c := range positions(t, l, 3) {
			if c.Position != all[i].Position || c.Entry.Chain != all[i].Entry.Chain {
				t.Fatalf("seed %d: item %d is another one when read again", seed, i)
			}
		}
	}
	if inCommit == 0 || acrossTasks == 0 {
		t.Errorf("%d items before an earlier one of their commit, %d between another task's: not untidy", inCommit, acrossTasks)
	}
	t.Logf("20 seeds: %d items came before an earlier one of their commit, %d after another task's", inCommit, acrossTasks)
}
