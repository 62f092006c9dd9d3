package simulation_test

import (
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// releases are how many there can be in a world; each brings a policy of its own.
const releases = 4

func policyOf(release int) string { return fmt.Sprintf("walk@%d", release) }

// documents draws the policies: how long a task lives and is kept changes from release
// to release.
func (w *world) documents() (*policy.Set, error) {
	set, err := policy.Shipped()
	if err != nil {
		return nil, err
	}
	w.terms = map[string]policy.Document{}
	dice := diceOf(w.seed, "policies")
	for release := 1; release <= releases; release++ {
		days := func() int { return (3 + dice.IntN(9)) * 86_400 }
		lease := ""
		if dice.IntN(3) == 0 {
			lease = fmt.Sprintf(`"leaseSeconds":%d,`, []int{25, 40, 120}[dice.IntN(3)])
		}
		text := fmt.Sprintf(`{"name":"walk","version":%d,"owner":"the simulation",%s"longestLifeSeconds":%d,"longestPauseSeconds":%d,
			"retentionSeconds":{"completed":%d,"failed":%d,"canceled":%d,"rejected":%d,"afterExport":%d},
			"effects":{"deed-*":{"compensable":true,"by":"whoever did it","units":1}},"billing":{"basis":"effects"}}`,
			release, lease, []int{1800, 5 * 3600, 48 * 3600}[dice.IntN(3)], []int{90, 2_592_000, 2_592_000}[dice.IntN(3)],
			days(), days(), days(), days(), 3600*(1+dice.IntN(24)))
		if err := set.Add(policyOf(release), []byte(text)); err != nil {
			return nil, err
		}
		if w.terms[policyOf(release)], err = set.Find(policyOf(release)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// checkTerms holds an ended task against the policy that it was accepted under: the one
// of the agent version that accepted it, whatever has been deployed since.
func (w *world) checkTerms(h lifecycle.Head) {
	want := policyOf(h.AgentVersion)
	if h.Policy != want {
		w.broken("policy", "task %s of agent version %d was accepted under %s", h.Ref(), h.AgentVersion, h.Policy)
		return
	}
	terms := w.terms[want].Policy()
	if got := h.LifeEndsAt.Sub(h.AcceptedAt); got != terms.Life {
		w.broken("policy", "task %s: %s gives it %s, it has %s", h.Ref(), want, terms.Life, got)
	}
	kept, ends := h.ExpiresAt.Sub(h.StatusAt), terms.RetentionOf(h.State)
	if h.AckedAt.IsZero() && kept != ends || kept > ends || kept <= 0 {
		w.broken("policy", "task %s ended as %s and is kept for %s, %s says %s", h.Ref(), h.State, kept, want, ends)
	}
	if h.StatusAt.After(h.LifeEndsAt.Add(time.Hour)) && len(w.off) == 0 {
		w.broken("I8", "task %s ended at %s, its life at %s", h.Ref(), h.StatusAt, h.LifeEndsAt)
	}
}
