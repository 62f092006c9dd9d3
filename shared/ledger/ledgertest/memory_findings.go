package ledgertest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var _ ledger.Findings = (*Memory)(nil)

// met is something that was met on a task.
type met struct {
	ref  lifecycle.Ref
	kind string
}

// Note implements ledger.Findings.
func (m *Memory) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	if err := ledger.CheckKind(kind); err != nil {
		return err
	}
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	f, known := m.found[met{ref, kind}]
	if !known || f.Last.Before(at.Add(-spell)) {
		f = ledger.Finding{Ref: ref, First: at}
	}
	f.Last = at
	f.Count += times
	m.found[met{ref, kind}] = f
	return nil
}

// Forget implements ledger.Findings.
func (m *Memory) Forget(ctx context.Context, f ledger.Finding, kind string) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if now, there := m.found[met{f.Ref, kind}]; there && now.Last.Equal(f.Last) && now.Count == f.Count {
		delete(m.found, met{f.Ref, kind})
	}
	return nil
}

// Found implements ledger.Findings.
func (m *Memory) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return ledger.FindingPage{}, err
	}
	defer leave()
	var all []ledger.Finding
	for at, f := range m.found {
		if at.kind == q.Kind && (q.All || at.ref.Tenant == q.Tenant) && !f.Last.Before(q.Since) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b ledger.Finding) int {
		return cmp.Or(cmp.Compare(b.Ref.Tenant, a.Ref.Tenant), b.Last.Compare(a.Last), cmp.Compare(b.Ref.Task, a.Ref.Task))
	})
	if q.Limit > 0 && len(all) > q.Limit {
		return ledger.FindingPage{Findings: all[:q.Limit], More: true}, nil
	}
	return ledger.FindingPage{Findings: all}, nil
}
