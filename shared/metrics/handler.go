package metrics

import (
	"context"
	"log/slog"
)

// Only passes on the lines that are metrics.
func Only(h slog.Handler) slog.Handler {
	return filter{h, func(r slog.Record) (slog.Record, bool) { return r, isMetric(r) }}
}

// Without is for people: it passes lines on without what makes them metrics, and of
// metrics not those below a warning. These measure, or count what a task's own record
// shows.
func Without(h slog.Handler) slog.Handler {
	return filter{h, func(r slog.Record) (slog.Record, bool) {
		if !isMetric(r) {
			return r, true
		}
		plain := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
		r.Attrs(func(a slog.Attr) bool {
			if a.Key != rootKey && a.Key != Dimension {
				plain.AddAttrs(a)
			}
			return true
		})
		return plain, r.Level >= slog.LevelWarn
	}}
}

// isMetric says whether CloudWatch would read a line.
func isMetric(r slog.Record) (is bool) {
	r.Attrs(func(a slog.Attr) bool {
		is = a.Key == rootKey
		return !is
	})
	return is
}

// filter passes lines on, or does not.
type filter struct {
	slog.Handler

	pass func(slog.Record) (slog.Record, bool)
}

// Handle implements slog.Handler.
func (f filter) Handle(ctx context.Context, r slog.Record) error {
	if passed, ok := f.pass(r); ok {
		return f.Handler.Handle(ctx, passed)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (f filter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return filter{f.Handler.WithAttrs(attrs), f.pass}
}

// WithGroup implements slog.Handler.
func (f filter) WithGroup(name string) slog.Handler {
	return filter{f.Handler.WithGroup(name), f.pass}
}
