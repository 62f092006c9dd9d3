package ledgertest

import (
	"context"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Act implements ledger.Tasks.
func (m *Memory) Act(ctx context.Context, ref lifecycle.Ref, a ledger.Acted) error {
	return m.within(ctx, ref, func(r *record) error {
		if err := a.Check(); err != nil {
			return err
		}
		if len(r.acts) >= a.Places() {
			return ledger.ErrActsFull
		}
		r.counts.Acts++
		r.acts = append(r.acts, a)
		return nil
	})
}

// Acts implements ledger.Tasks.
func (m *Memory) Acts(ctx context.Context, ref lifecycle.Ref) (out []ledger.Acted, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.Clone(r.acts)
		return nil
	})
	return out, err
}
