package export

import (
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// settling gathers, entry by entry, what a settlement is made of: what was recorded of
// the policy, and the terminal entry.
type settling struct {
	accepted *lifecycle.Submission
	end      *lifecycle.Entry
}

func (s *settling) add(e lifecycle.Entry) error {
	switch e.Type {
	case lifecycle.TypeSubmitted:
		ev, err := e.Event()
		if err != nil {
			return err
		}
		s.accepted = ev.Submission
	case lifecycle.TypeEnded:
		s.end = &e
	default: // nothing of it settles anything
	}
	return nil
}

// settle settles the task by the records of its effects; nil while it lives.
func (s settling) settle(effects []lifecycle.Effect) (*policy.Settlement, error) {
	if s.end == nil || s.accepted == nil {
		return nil, nil
	}
	out, err := policy.Settle(policy.Recorded{End: *s.end, Policy: s.accepted.Policy, Terms: s.accepted.Terms, Effects: effects})
	return &out, err
}

// document is the line of the policy's document: the one that the task was accepted
// under and no other, whatever has its name and version now.
func (s settling) document(known *policy.Set) []Line {
	if known == nil || s.accepted == nil || s.accepted.Terms == nil {
		return nil
	}
	d, err := known.Find(s.accepted.Policy)
	if err != nil || d.Digest() != s.accepted.Terms.Digest {
		return nil
	}
	return []Line{{Kind: KindPolicy, Policy: &Policy{ID: d.ID(), Digest: d.Digest(), Document: d.JSON()}}}
}
