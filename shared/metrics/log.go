package metrics

import (
	"context"
	"log/slog"
	"time"
)

// What CloudWatch reads in a line (Specification: Embedded metric format).
const (
	// Namespace is where the metrics are.
	Namespace = "Holdfast"
	// Dimension is the one dimension that they have: which deployment it is.
	Dimension = "Deployment"
	// rootKey is the member by which CloudWatch knows such a line.
	rootKey = "_aws"
)

// Value is a number of a metric.
type Value struct {
	Name   Name
	Number float64
}

// Log writes lines that are metrics as well.
type Log struct {
	Logger *slog.Logger
	// Deployment tells this one from others of the account.
	Deployment string
	Now        func() time.Time
}

// root is the member that CloudWatch reads.
type root struct {
	Timestamp  int64       `json:"Timestamp"`         //nolint:tagliatelle // CloudWatch's names
	Directives []directive `json:"CloudWatchMetrics"` //nolint:tagliatelle // likewise
}

type directive struct {
	Namespace  string       `json:"Namespace"`  //nolint:tagliatelle // likewise
	Dimensions [][]string   `json:"Dimensions"` //nolint:tagliatelle // likewise
	Metrics    []definition `json:"Metrics"`    //nolint:tagliatelle // likewise
}

type definition struct {
	Name Name `json:"Name"` //nolint:tagliatelle // likewise
	Unit Unit `json:"Unit"` //nolint:tagliatelle // likewise
}

// Write writes a line with its numbers. A name that is not in the table is left out:
// nobody would have an alarm on it.
func (l Log) Write(ctx context.Context, level slog.Level, message string, values []Value, attrs ...slog.Attr) {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{Dimension}}}
	for _, v := range values {
		m, known := Of(v.Name)
		if !known {
			continue
		}
		d.Metrics = append(d.Metrics, definition{m.Name, m.Unit})
		attrs = append(attrs, slog.Float64(string(m.Name), v.Number))
	}
	if len(d.Metrics) > 0 {
		attrs = append(attrs, slog.String(Dimension, l.Deployment), slog.Any(rootKey, root{l.Now().UnixMilli(), []directive{d}}))
	}
	l.Logger.LogAttrs(ctx, level, message, attrs...) //nolint:sloglint // every caller has a constant
}
