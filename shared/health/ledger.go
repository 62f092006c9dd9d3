package health

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// Ledger is a ledger whose refusals are seen: every incident and every rejection that
// it keeps, once each, whoever meets it; and every effect that comes to be in doubt, or
// may be because its caller is gone.
func (m *Monitor) Ledger(l ledger.Ledger) ledger.Ledger { return &watchful{l, m} }

type watchful struct {
	ledger.Ledger

	monitor *Monitor
}

// Reject implements ledger.Tasks.
func (w *watchful) Reject(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected) error {
	err := w.Ledger.Reject(ctx, ref, r)
	if err == nil {
		w.monitor.refused(ctx, ref, r)
	}
	return err
}

// Refuse implements ledger.Tasks. Its own receipt says that an earlier try has kept
// the refusal, and its answer was lost.
func (w *watchful) Refuse(ctx context.Context, ref lifecycle.Ref, r ledger.Refusal) error {
	err := w.Ledger.Refuse(ctx, ref, r)
	known, is := errors.AsType[*ledger.ReceiptKnown](err)
	if err == nil || is && r.Receipt.Op != "" && known.Receipt.Op == r.Receipt.Op {
		w.monitor.refused(ctx, ref, r.Rejected)
	}
	return err
}

// Settle implements ledger.Effects.
func (w *watchful) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	err := w.Ledger.Settle(ctx, ref, e)
	if err == nil && e.State == lifecycle.EffectInDoubt {
		w.monitor.Saw(ctx, EffectInDoubt, ref, "an effect is in doubt", slog.String("effect", e.Name), slog.String("policy", string(e.Policy)), slog.Uint64("fence", e.Fence))
	}
	return err
}

// Commit implements ledger.Tasks. Who has died said nothing of its calls: whoever ends its
// lease looks for them, before the lease is ended. A lease that is given back costs no look.
func (w *watchful) Commit(ctx context.Context, c ledger.Commit) error {
	if bereft(c) {
		w.monitor.left(ctx, w.Ledger, c.Seen)
	}
	return w.Ledger.Commit(ctx, c)
}

// bereft says whether a commit ends a lease in its holder's place: another lease or
// generation begins, or the task ends, and the holder has not said so.
func bereft(c ledger.Commit) bool {
	before, after := c.Seen, c.Head
	if before.Holder == "" {
		return false
	}
	for _, e := range c.Entries {
		if e.Holder == before.Holder && e.Fence == before.Fence {
			return false
		}
	}
	return after.Terminal() || after.Fence != before.Fence || after.Generation != before.Generation
}

// left notes a task whose holder is gone, if it has left a call without a word. It may be
// settled by its policy: whoever reads the finding looks.
func (m *Monitor) left(ctx context.Context, effects ledger.Effects, h lifecycle.Head) {
	all, err := effects.EffectList(ctx, h.Ref())
	if err != nil {
		m.Log.Logger.LogAttrs(ctx, slog.LevelWarn, "nobody has looked for calls that were left", append(names(h.Ref(), EffectInDoubt), slog.Any("error", err))...)
	}
	for _, e := range all {
		if e.State == lifecycle.EffectIntended {
			m.Saw(ctx, EffectInDoubt, h.Ref(), "a call was begun by somebody who is gone", slog.String("effect", e.Name), slog.String("policy", string(e.Policy)), slog.Uint64("fence", e.Fence))
			return
		}
	}
}

// watchedReasons are the rejections that are an invariant's.
var watchedReasons = map[lifecycle.Reason]ID{
	lifecycle.ConflictingContent: ConflictingContent,
	lifecycle.PostTerminal:       PostTerminal,
	lifecycle.IllegalTransition:  IllegalTransition,
}

// refused is told of a rejection that the ledger has kept. What it says in detail may
// have come from outside, and is not for a log.
func (m *Monitor) refused(ctx context.Context, ref lifecycle.Ref, r ledger.Rejected) {
	attrs := []slog.Attr{slog.String("reason", string(r.Reason)), slog.String("producer", r.Producer)}
	if r.Fence > 0 {
		attrs = append(attrs, slog.Uint64("fence", r.Fence))
	}
	id, watched := watchedReasons[r.Reason]
	if !watched {
		m.Log.Write(ctx, slog.LevelWarn, "a report was refused", []metrics.Value{{Name: metrics.OtherRejections, Number: 1}},
			append([]slog.Attr{slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task))}, attrs...)...)
		return
	}
	message := "a report was refused"
	if id == ConflictingContent {
		message = "an incident: one identity, two contents"
	}
	m.Saw(ctx, id, ref, message, attrs...)
}
