package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// openLog makes the log of a server: text for people, and, when a file is named, the
// lines that are metrics as CloudWatch would read them.
func openLog(out io.Writer, file string) (*slog.Logger, func() error, error) {
	people := metrics.Without(slog.NewTextHandler(out, nil))
	if file == "" {
		return slog.New(people), func() error { return nil }, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("the file of metrics: %w", err)
	}
	return slog.New(slog.NewMultiHandler(people, metrics.Only(slog.NewJSONHandler(f, nil)))), f.Close, nil
}
