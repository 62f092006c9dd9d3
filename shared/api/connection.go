package api

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Connection is a stream that opened or closed. The record is kept apart from the
// ledger, and nothing depends on it.
type Connection struct {
	At    time.Time `json:"at"`
	ID    string    `json:"id"`
	Event string    `json:"event"` // "open" or "close"
	Kind  string    `json:"kind"`  // the A2A operation
	// Tenant and Task are whose stream it is.
	Tenant string     `json:"tenant"`
	Task   a2a.TaskID `json:"task"`
	// From is the cursor that the stream began behind, To the last sequence sent.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Reason says why it closed: one of the Closed constants.
	Reason string `json:"reason,omitempty"`
}

// Reasons for a stream to close.
const (
	ClosedTerminal = "terminal"       // the task has ended
	ClosedInput    = "input-required" // the task waits for a reply
	ClosedCaller   = "caller-gone"    // the caller went away, or did not read
	ClosedLimit    = "limit"          // cut before the platform would
	ClosedStopping = "stopping"       // the process stops
	ClosedFault    = "fault"          // the ledger could not be read
)

// ConnectionLog records connections. It is called from many goroutines and must
// not block for long.
type ConnectionLog interface {
	Record(c Connection)
}

// NewConnectionLog records each connection as one line of JSON. A line that
// cannot be written is lost.
func NewConnectionLog(w io.Writer) ConnectionLog { return &lineLog{w: w} }

type lineLog struct {
	mu sync.Mutex
	w  io.Writer
}

// Record implements ConnectionLog.
func (l *lineLog) Record(c Connection) {
	line, err := json.Marshal(c)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.w.Write(append(line, '\n'))
}
