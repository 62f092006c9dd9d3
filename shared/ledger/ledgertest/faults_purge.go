package ledgertest

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func (l *faultyLedger) Expired(ctx context.Context, before time.Time, after *ledger.ExpiredCursor, limit int) (ledger.ExpiredPage, error) {
	question := ledger.ExpiredCursor{}
	if after != nil {
		question = *after
	}
	return ask(ctx, l.faults, Call{Method: "Expired"}, question, func(ctx context.Context) (ledger.ExpiredPage, error) {
		return l.inner.Expired(ctx, before, after, limit)
	})
}

func (l *faultyLedger) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	return read(ctx, l.faults, Call{Method: "BeginPurge", Ref: ref}, func(ctx context.Context) (ledger.Purge, error) { return l.inner.BeginPurge(ctx, ref, now) })
}

func (l *faultyLedger) PurgePiece(ctx context.Context, ref lifecycle.Ref) (removed int, more bool, err error) {
	type piece struct {
		removed int
		more    bool
	}
	p, err := read(ctx, l.faults, Call{Method: "PurgePiece", Ref: ref}, func(ctx context.Context) (p piece, err error) {
		p.removed, p.more, err = l.inner.PurgePiece(ctx, ref)
		return p, err
	})
	return p.removed, p.more, err
}

func (l *faultyLedger) EndPurge(ctx context.Context, p ledger.Purge, forgetAt time.Time) error {
	return write(ctx, l.faults, Call{Method: "EndPurge", Ref: p.Ref}, func(ctx context.Context) error { return l.inner.EndPurge(ctx, p, forgetAt) }, nil)
}

func (l *faultyLedger) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	return read(ctx, l.faults, Call{Method: "ForgetKeys"}, func(ctx context.Context) (int, error) { return l.inner.ForgetKeys(ctx, before, limit) })
}
