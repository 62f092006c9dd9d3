package metrics

import (
	"context"
	"log/slog"
	"slices"
)

// Only passes on the lines that are metrics.
func Only(h slog.Handler) slog.Handler { return only{h} }

// Without is for people: it passes lines on without what makes them metrics, and of
// metrics not those below a warning. These measure, or count what a task's own record
// shows.
func Without(h slog.Handler) slog.Handler { return without{h} }

type only struct{ slog.Handler }

type without struct{ slog.Handler }

// isMetric says whether CloudWatch would read a line.
func isMetric(r slog.Record) (is bool) {
	r.Attrs(func(a slog.Attr) bool {
		is = a.Key == rootKey
		return !is
	})
	return is
}

// Handle implements slog.Handler.
func (o only) Handle(ctx context.Context, r slog.Record) error {
	if !isMetric(r) {
		return nil
	}
	return o.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (o only) WithAttrs(attrs []slog.Attr) slog.Handler { return only{o.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (o only) WithGroup(name string) slog.Handler { return only{o.Handler.WithGroup(name)} }

// Handle implements slog.Handler.
func (w without) Handle(ctx context.Context, r slog.Record) error {
	if !isMetric(r) {
		return w.Handler.Handle(ctx, r)
	}
	if r.Level < slog.LevelWarn {
		return nil
	}
	var attrs []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	plain := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	plain.AddAttrs(slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Key == rootKey || a.Key == Dimension })...)
	return w.Handler.Handle(ctx, plain)
}

// WithAttrs implements slog.Handler.
func (w without) WithAttrs(attrs []slog.Attr) slog.Handler {
	return without{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w without) WithGroup(name string) slog.Handler { return without{w.Handler.WithGroup(name)} }
