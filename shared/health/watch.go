package health

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// What follows are the words in which the parts of a process tell of trouble; each part
// declares the port that it needs of them.

// EffectHeld says: a step needs an effect that is in doubt, and an operator must settle it.
func (m *Monitor) EffectHeld(ctx context.Context, ref lifecycle.Ref, effect string) {
	m.Saw(ctx, EffectInDoubt, ref, "an effect waits for an operator", slog.String("effect", effect))
}

// EffectOpen says: an invocation ends, and what became of a call that it has begun is not
// on the record.
func (m *Monitor) EffectOpen(ctx context.Context, ref lifecycle.Ref, effect string) {
	m.Saw(ctx, EffectInDoubt, ref, "the end of a call is not recorded", slog.String("effect", effect))
}

// VersionUnknown says: a task cannot be run here until its agent version is deployed. Who
// says so has logged it.
func (m *Monitor) VersionUnknown(ctx context.Context, ref lifecycle.Ref) {
	m.note(ctx, string(UnknownVersion), ref, 1)
}

// Untaken says: a task was found without anybody at work on it, and is told of again.
func (m *Monitor) Untaken(ctx context.Context, h lifecycle.Head) {
	if h.Untaken+1 >= UntakenFrom {
		m.Saw(ctx, TaskPastDue, h.Ref(), "nobody takes a task", slog.Uint64("seq", h.Seq), slog.Uint64("generation", h.Generation), slog.Int("untaken", h.Untaken+1))
	}
}

// ExecutionFailed says: something in a task's execution failed that was none of the task's
// own affair.
func (m *Monitor) ExecutionFailed(ctx context.Context, h lifecycle.Head, execution string) {
	m.Saw(ctx, ExecutionFailed, h.Ref(), "an execution met a fault, and goes on later",
		slog.Uint64("seq", h.Seq), slog.String("execution", execution), slog.String("agent", h.Agent), slog.Int("version", h.AgentVersion), slog.String("step", h.Step))
}

// TaskFailed says: an execution ends as failed, for its task did.
func (m *Monitor) TaskFailed(ctx context.Context, ref lifecycle.Ref, execution string) {
	m.Log.Write(ctx, slog.LevelInfo, "a task failed", []metrics.Value{{Name: metrics.TasksFailed, Number: 1}},
		slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task)), slog.String("execution", execution))
}

// RequestFailed says: a request was answered with a fault of ours; the caller was told the
// incident. The task is there when it is known.
func (m *Monitor) RequestFailed(ctx context.Context, ref lifecycle.Ref, operation, incident string, err error) {
	m.Saw(ctx, Faulty, ref, "request failed", slog.String("incident", incident), slog.String("operation", operation), slog.Any("error", err))
}

// NotDelivered says: an endpoint has not taken an update, or something of ours is in the
// way, and it is tried again. Who says so has logged it.
func (m *Monitor) NotDelivered(ctx context.Context, at ledger.DueDelivery) {
	m.note(ctx, string(Undelivered), at.Ref, 1)
}

// GivenUp says: an endpoint has not taken an update for so long that it is not called any
// more.
func (m *Monitor) GivenUp(ctx context.Context, at ledger.DueDelivery, seq uint64) {
	m.Saw(ctx, DeliveryGivenUp, at.Ref, "a delivery is given up", slog.String("endpoint", at.ID), slog.Uint64("seq", seq))
}

// RecordUnreadable says: a record of the change feed could not be read.
func (m *Monitor) RecordUnreadable(ctx context.Context, sequenceNumber string, err error) {
	m.Saw(ctx, UnreadableRecord, lifecycle.Ref{}, "a stream record cannot be read", slog.String("sequenceNumber", sequenceNumber), slog.Any("error", err))
}

// throttleNote is how often a process notes throttling, at most: notes are requests, too.
const throttleNote = 10 * time.Second

// Throttled says: a service refused a request because there are too many. The line and the
// metric are of each; the note is of all that came since the last one, so that the light
// lags behind them, and does not see what a process met in its last seconds.
func (m *Monitor) Throttled(ctx context.Context) {
	m.say(ctx, Throttled, lifecycle.Ref{}, "a service throttles requests")
	times := m.toNote(ctx)
	if times > 0 && !m.note(ctx, string(Throttled), lifecycle.Ref{}, times) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.throttled += times // for the next note
	}
}

// toNote counts a request that was throttled, and says how many are to be noted now. The
// request may be a note: none begins inside another.
func (m *Monitor) toNote(ctx context.Context) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.throttled++
	now := m.Now()
	if ctx.Value(noting{}) != nil || !m.throttledAt.IsZero() && now.Sub(m.throttledAt) < throttleNote {
		return 0
	}
	times := m.throttled
	m.throttled, m.throttledAt = 0, now
	return times
}
