package ledgertest

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func (l *faultyLedger) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	return write(ctx, l.faults, Call{Method: "Note", Ref: ref}, func(ctx context.Context) error { return l.inner.Note(ctx, ref, kind, at, spell, times) }, nil)
}

func (l *faultyLedger) Forget(ctx context.Context, f ledger.Finding, kind string) error {
	return write(ctx, l.faults, Call{Method: "Forget", Ref: f.Ref}, func(ctx context.Context) error { return l.inner.Forget(ctx, f, kind) }, nil)
}

func (l *faultyLedger) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	question := q
	question.Since = time.Time{}
	return ask(ctx, l.faults, Call{Method: "Found", Ref: lifecycle.Ref{Tenant: q.Tenant}}, question, func(ctx context.Context) (ledger.FindingPage, error) { return l.inner.Found(ctx, q) })
}
