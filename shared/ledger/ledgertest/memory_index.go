package ledgertest

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// List implements ledger.Index.
func (m *Memory) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	heads, err := m.find(ctx, func(h lifecycle.Head) bool { return selects(q, h) }, func(a, b lifecycle.Head) int { return latestFirst(a.StatusAt, b.StatusAt, a.Task, b.Task) })
	if err != nil {
		return ledger.Page{}, err
	}
	if c := q.After; c != nil {
		heads = slices.DeleteFunc(heads, func(h lifecycle.Head) bool { return latestFirst(c.StatusAt, h.StatusAt, c.Task, h.Task) >= 0 })
	}
	if q.Limit <= 0 || len(heads) <= q.Limit {
		return ledger.Page{Heads: heads}, nil
	}
	last := heads[q.Limit-1]
	return ledger.Page{Heads: heads[:q.Limit], Next: &ledger.ListCursor{StatusAt: last.StatusAt, Task: last.Task}}, nil
}

// Count implements ledger.Index.
func (m *Memory) Count(ctx context.Context, q ledger.ListQuery) (ledger.Counted, error) {
	heads, err := m.find(ctx, func(h lifecycle.Head) bool { return selects(q, h) }, func(lifecycle.Head, lifecycle.Head) int { return 0 })
	return ledger.Counted{Tasks: len(heads)}, err
}

// Due implements ledger.Index.
func (m *Memory) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	due := func(h lifecycle.Head) bool { return !h.DueAt.IsZero() && !h.DueAt.After(before) }
	heads, err := m.find(ctx, due, func(a, b lifecycle.Head) int { return earliestFirst(a.DueAt, b.DueAt, a.Ref(), b.Ref()) })
	if err != nil {
		return ledger.DuePage{}, err
	}
	if after != nil {
		heads = slices.DeleteFunc(heads, func(h lifecycle.Head) bool { return earliestFirst(after.DueAt, h.DueAt, after.Ref, h.Ref()) >= 0 })
	}
	if limit <= 0 || len(heads) <= limit {
		return ledger.DuePage{Heads: heads}, nil
	}
	last := heads[limit-1]
	return ledger.DuePage{Heads: heads[:limit], Next: &ledger.DueCursor{DueAt: last.DueAt, Ref: last.Ref()}}, nil
}

// find looks at every task there is.
func (m *Memory) find(ctx context.Context, wanted func(lifecycle.Head) bool, order func(a, b lifecycle.Head) int) ([]lifecycle.Head, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var heads []lifecycle.Head
	for _, r := range m.tasks {
		if wanted(r.head) {
			heads = append(heads, copyHead(r.head))
		}
	}
	slices.SortFunc(heads, order)
	return heads, nil
}
