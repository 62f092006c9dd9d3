package export

import (
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// policy holds the document's line against what the submission recorded of it: its
// name, its digest, and all that it says.
func (v *verifier) policy(p Policy) {
	got, err := lifecycle.DigestJSON(p.Document)
	if err != nil {
		v.broken("I4", "the document of policy %s has no canonical form: %v", p.ID, err)
		return
	}
	s := v.record.accepted
	switch {
	case s == nil || s.Terms == nil:
		v.broken("I4", "a document of policy %s, and the submission recorded none", p.ID)
	case p.ID != s.Policy:
		v.broken("I4", "the document is of policy %s, the task was accepted under %s", p.ID, s.Policy)
	case got != s.Terms.Digest || p.Digest != s.Terms.Digest:
		v.broken("I4", "the document of policy %s has the digest %s and says %s, recorded is %s", p.ID, got, p.Digest, s.Terms.Digest)
	default:
		v.recordedAs(p, *s)
	}
}

// recordedAs tests that what was recorded is what the document says. A document that
// this build would not take any more was taken once: its digest is what there is to
// test.
func (v *verifier) recordedAs(p Policy, s lifecycle.Submission) {
	d, err := policy.Parse(p.ID, p.Document)
	if err != nil {
		return
	}
	says := d.Policy()
	terms, err := lifecycle.DigestJSON(says.Terms)
	recorded, wrong := lifecycle.DigestJSON(s.Terms)
	life := s.LifeEndsAt.Sub(v.task.AcceptedAt)
	if err != nil || wrong != nil || terms != recorded || life != says.Life || s.RetainSeconds != int64(says.Retention/time.Second) || d.ID() != p.ID {
		v.broken("I8", "the submission does not record what the document of policy %s says: a life of %s for %s, a retention of %d s for %s, terms with digest %s for %s",
			p.ID, life, says.Life, s.RetainSeconds, says.Retention, recorded, terms)
	}
}

// checkSettlement settles the task once more, by the lines before.
func (v *verifier) checkSettlement() {
	if v.report.Header.Format < settled || v.report.Header.Scope != Operator {
		return
	}
	effects := make([]lifecycle.Effect, 0, len(v.effects))
	for _, e := range v.effects {
		effects = append(effects, e.T.Effect)
	}
	want, err := v.record.settle(effects)
	switch {
	case err != nil:
		v.brokenAt(v.headLine, "I4", "the task cannot be settled: %v", err)
	case want == nil && v.settlement.T != nil:
		v.brokenAt(v.settlement.line, "I4", "a settlement of a task that has not ended")
	case want != nil && v.settlement.T == nil:
		v.brokenAt(v.headLine, "I4", "the settlement of the ended task is missing")
	case want != nil:
		expected, err := lifecycle.DigestJSON(want)
		got, wrong := lifecycle.DigestJSON(v.settlement.T)
		if err != nil || wrong != nil || expected != got {
			v.brokenAt(v.settlement.line, "I4", "the settlement says %d units, %d to be undone, %d open; terminal receipt, effects and policy give %d, %d, %d",
				v.settlement.T.Units, v.settlement.T.Compensate, v.settlement.T.Open, want.Units, want.Compensate, want.Open)
		}
	}
}
