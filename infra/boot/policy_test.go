package boot

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// TestPolicies: documents are packaged with the functions. Every agent that may be deployed finds its own, and one that
// names another does not start.
func TestPolicies(t *testing.T) {
	known, err := catalog.Shipped("http://127.0.0.1:8090")
	if err != nil {
		t.Fatal(err)
	}
	policies, offered, err := offers(known)
	if err != nil || len(offered) != len(known.Names()) {
		t.Fatalf("%d agents offered of %v: %v", len(offered), known.Names(), err)
	}
	for _, a := range offered {
		d, err := policies.Find(a.Policy.Version)
		if err != nil || a.Policy.Terms == nil || a.Policy.Terms.Digest != d.Digest() {
			t.Errorf("agent %s is judged by %+v (%v)", a.Name, a.Policy, err)
		}
	}
	lost, err := catalog.New(agent.Outside("translator", 1, agent.Card{}).Under("gone@1"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = offers(lost)
	if unknown, is := errors.AsType[*policy.Unknown](err); !is || unknown.ID != "gone@1" || !strings.Contains(err.Error(), "translator") {
		t.Errorf("a policy that nobody has: %v", err)
	}
}
