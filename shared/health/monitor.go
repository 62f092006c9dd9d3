package health

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

const (
	// DefaultWindow is how long a light shows an event that is over.
	DefaultWindow = 15 * time.Minute
	// noteTime bounds a note: whoever has met trouble is not to wait for it.
	noteTime = 2 * time.Second
)

// Monitor is told of trouble where it is met: it writes one line, which is the metric
// as well, and notes the task, so that a report finds it.
type Monitor struct {
	Findings ledger.Findings
	Log      metrics.Log
	Now      func() time.Time
	// Window is a Reporter's: what is met again within it is counted.
	Window time.Duration

	mu sync.Mutex
	// throttled counts what was not noted since throttledAt.
	throttled   int
	throttledAt time.Time
}

// Saw says that an invariant was broken on a task; with the zero Ref, on nobody's.
func (m *Monitor) Saw(ctx context.Context, id ID, ref lifecycle.Ref, message string, attrs ...slog.Attr) {
	if m.say(ctx, id, ref, message, attrs...) {
		m.note(ctx, string(id), ref, 1)
	}
}

// say writes the line of what was met, and reports whether it is watched.
func (m *Monitor) say(ctx context.Context, id ID, ref lifecycle.Ref, message string, attrs ...slog.Attr) bool {
	v, known := Of(id)
	if !known {
		return false
	}
	level := slog.LevelWarn
	if v.Event && v.Amber == 0 {
		level = slog.LevelError
	}
	var values []metrics.Value
	if metric, _ := metrics.Of(v.Metric); !metric.Gauge {
		values = []metrics.Value{{Name: v.Metric, Number: 1}}
	}
	m.Log.Write(ctx, level, message, values, append(names(ref, id), attrs...)...)
	return true
}

// names are the attributes that say what a line is about.
func names(ref lifecycle.Ref, id ID) []slog.Attr {
	attrs := []slog.Attr{slog.String("invariant", string(id))}
	if ref.Tenant != "" {
		attrs = append(attrs, slog.String("tenant", ref.Tenant))
	}
	if ref.Task != "" {
		attrs = append(attrs, slog.String("task", string(ref.Task)))
	}
	return attrs
}

// note keeps a finding, whatever becomes of the caller, and reports whether it is kept.
func (m *Monitor) note(ctx context.Context, kind string, ref lifecycle.Ref, times int) bool {
	ctx, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), noting{}, true), noteTime)
	defer cancel()
	err := m.Findings.Note(ctx, ref, kind, lifecycle.Millis(m.Now()), m.Window, times)
	if err != nil {
		m.Log.Logger.LogAttrs(ctx, slog.LevelWarn, "a finding was not kept", append(names(ref, ID(kind)), slog.Any("error", err))...)
	}
	return err == nil
}

// noting is in the context of a note.
type noting struct{}

// StreamAge says how old the oldest record of a batch was when it came, if that is of
// interest to anybody: there are as many batches as commits, and the alarm takes a missing
// number for a young one.
func (m *Monitor) StreamAge(ctx context.Context, age time.Duration) {
	v, _ := Of(StreamBehind)
	seconds := age.Seconds()
	if seconds < v.Amber {
		return
	}
	m.Log.Write(ctx, slog.LevelInfo, "measured", []metrics.Value{{Name: v.Metric, Number: seconds}})
	m.note(ctx, string(StreamBehind), lifecycle.Ref{}, 1)
	if seconds >= v.Red {
		m.note(ctx, farBehind, lifecycle.Ref{}, 1)
	}
}

// farBehind is the kind of finding that makes StreamBehind red.
const farBehind = string(StreamBehind) + ".far"

// Measured writes what a survey has found of the invariants that are states. What it
// could not read is a fault of ours.
func (m *Monitor) Measured(ctx context.Context, r Report) {
	var values []metrics.Value
	for _, l := range r.Lights {
		v, _ := Of(l.Invariant)
		if metric, _ := metrics.Of(v.Metric); metric.Gauge && !v.Event {
			values = append(values, metrics.Value{Name: v.Metric, Number: l.Value})
		}
	}
	m.Log.Write(ctx, slog.LevelInfo, "measured", values)
	for _, u := range r.unread {
		m.Saw(ctx, Faulty, u.Ref, "a finding cannot be read", slog.Any("error", u.Err))
	}
}

// SweepEnded says that a sweep has come to its end.
func (m *Monitor) SweepEnded(ctx context.Context) {
	v, _ := Of(SweepSilent)
	m.Log.Write(ctx, slog.LevelInfo, "measured", []metrics.Value{{Name: v.Metric, Number: 1}})
}

// Swept is SweepEnded for a process that the reporter does not run in: it finds a note.
func (m *Monitor) Swept(ctx context.Context) {
	m.SweepEnded(ctx)
	m.note(ctx, string(SweepSilent), lifecycle.Ref{}, 1)
}
