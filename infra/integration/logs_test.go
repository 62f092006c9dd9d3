package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
)

// maxLogBytes is how much of a function's log is kept.
const maxLogBytes = 1 << 20

// logs are what the functions print. Those of a test that failed are shown.
type logs struct {
	mu   sync.Mutex
	text map[string]*bytes.Buffer
}

func newLogs(t *testing.T) *logs {
	t.Helper()
	l := &logs{text: map[string]*bytes.Buffer{}}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for name, text := range l.text {
			const most = 6 << 10
			tail := text.Bytes()
			t.Logf("the log of %s ends with\n%s", name, tail[max(0, len(tail)-most):])
		}
	})
	return l
}

// of is where a function prints to.
func (l *logs) of(name string) io.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text[name] == nil {
		l.text[name] = &bytes.Buffer{}
	}
	return logWriter{l, name}
}

type logWriter struct {
	*logs
	name string
}

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b := w.text[w.name]; b.Len() < maxLogBytes {
		b.Write(p)
	}
	return len(p), nil
}

// line is a line of a function's log.
type line map[string]any

// number is a field of it.
func (l line) number(field string) int {
	n, _ := l[field].(float64)
	return int(n)
}

// lines are those of a function's log whose message is the given one.
func (l *logs) lines(name, message string) (out []line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text[name] == nil {
		return nil
	}
	for text := range strings.Lines(l.text[name].String()) {
		var one line
		if json.Unmarshal([]byte(text), &one) == nil && (one["msg"] == message || one["message"] == message) {
			out = append(out, one)
		}
	}
	return out
}
