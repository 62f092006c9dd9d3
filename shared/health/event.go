package health

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// events counts what has happened to a tenant lately.
func (r *Reporter) events(ctx context.Context, v Invariant, s scope, now time.Time) (measure, error) {
	var m measure
	queries := []ledger.FindingQuery{{Kind: string(v.ID), Tenant: s.tenant, Since: now.Add(-r.Window), Limit: maxFound}}
	if v.Deployment {
		own := queries[0]
		own.Tenant = ""
		queries = append(queries, own)
	}
	for _, q := range queries {
		page, err := r.Ledger.Found(ctx, q)
		if err != nil {
			return m, err
		}
		m.more, m.unread = m.more || page.More, append(m.unread, page.Unread...)
		for _, f := range page.Findings {
			m.value += float64(f.Count)
			m.list(Task{ref: f.Ref, Task: f.Ref.Task, Since: f.First, Last: f.Last, Count: f.Count})
		}
	}
	return m, nil
}

// streamBehind says which of its marks the change feed's age has passed lately.
func (r *Reporter) streamBehind(ctx context.Context, now time.Time) (measure, error) {
	v, _ := Of(StreamBehind)
	var m measure
	for _, mark := range []struct {
		kind  string
		value float64
	}{{string(StreamBehind), v.Amber}, {farBehind, v.Red}} {
		page, err := r.Ledger.Found(ctx, ledger.FindingQuery{Kind: mark.kind, Since: now.Add(-r.Window), Limit: 1})
		if err != nil {
			return m, err
		}
		for _, f := range page.Findings {
			m.value = mark.value
			m.since(f.First)
			m.more = true
		}
	}
	return m, nil
}
