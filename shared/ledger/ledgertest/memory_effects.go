package ledgertest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Effect implements ledger.Effects.
func (m *Memory) Effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (e lifecycle.Effect, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		known, begun := r.effects[effectName{visit, name}]
		if !begun {
			return ledger.ErrNotFound
		}
		e = copyEffect(known)
		return nil
	})
	return e, err
}

// EffectList implements ledger.Effects.
func (m *Memory) EffectList(ctx context.Context, ref lifecycle.Ref) (out []lifecycle.Effect, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		out = slices.SortedFunc(maps.Values(r.effects), func(a, b lifecycle.Effect) int {
			return cmp.Or(cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Name, b.Name))
		})
		for i := range out {
			out[i] = copyEffect(out[i])
		}
		return nil
	})
	return out, err
}

// Intend implements ledger.Effects.
func (m *Memory) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return m.within(ctx, ref, func(r *record) error {
		if r.head.Terminal() || r.head.Cancel != nil || r.head.Fence != e.Fence {
			return r.conflict(r.head.Seq)
		}
		return r.putEffect(e)
	})
}

// Settle implements ledger.Effects.
func (m *Memory) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	return m.within(ctx, ref, func(r *record) error { return r.putEffect(e) })
}

// putEffect writes a record over the one that is a revision older.
func (r *record) putEffect(e lifecycle.Effect) error {
	name := effectName{e.Visit, e.Name}
	if r.effects[name].Revision+1 != e.Revision {
		return ledger.ErrEffectChanged
	}
	r.effects[name] = copyEffect(e)
	return nil
}

func copyEffect(e lifecycle.Effect) lifecycle.Effect {
	e.Result = slices.Clone(e.Result)
	return e
}

// Park implements ledger.Tokens.
func (m *Memory) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (p ledger.Parked, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		p = r.parked[pause]
		if p.Token.Before(t) {
			p.Token = t
			r.parked[pause] = p
		}
		return nil
	})
	return p, err
}

// Parked implements ledger.Tokens.
func (m *Memory) Parked(ctx context.Context, ref lifecycle.Ref, pause int) (p ledger.Parked, err error) {
	err = m.inside(ctx, ref, func(r *record) error {
		p = r.parked[pause]
		return nil
	})
	return p, err
}
