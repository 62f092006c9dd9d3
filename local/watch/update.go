package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// extensionURI names the metadata in which the door says more than A2A does.
const extensionURI = "urn:holdfast:a2a:durable-task:v1"

// Update is something that became known about a task.
type Update struct {
	// Seq is the update's place in the task's history.
	Seq uint64
	// Event is a status or an artifact update, or the whole task when it ended while
	// no stream was open.
	Event a2a.Event
	// Raw is the StreamResponse as it came, on one line.
	Raw json.RawMessage
	// Replay marks an update that had happened before the stream was opened.
	Replay bool
}

// State is the task's state after the update, empty for an artifact update.
func (u Update) State() a2a.TaskState {
	switch ev := u.Event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State
	case *a2a.Task:
		return ev.Status.State
	}
	return ""
}

// Last says whether the task has ended with this update.
func (u Update) Last() bool { return u.State().Terminal() }

// parseUpdate reads a frame. Without an id it is a snapshot, whose Seq is what its
// metadata says, and numbered is false.
func parseUpdate(f frame) (u Update, numbered bool, err error) {
	var response a2a.StreamResponse
	if err := json.Unmarshal(f.data, &response); err != nil {
		return u, false, fmt.Errorf("a frame is no StreamResponse: %w", err)
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, f.data); err != nil {
		return u, false, err
	}
	own := ownMetadata(response.Event)
	u = Update{Seq: own.Sequence, Event: response.Event, Raw: raw.Bytes(), Replay: own.Replay}
	if f.id == "" {
		return u, false, nil
	}
	if u.Seq, err = strconv.ParseUint(f.id, 10, 64); err != nil {
		return u, false, fmt.Errorf("a frame's id is no sequence: %w", err)
	}
	return u, true, nil
}

// own is the part of the door's metadata that matters here.
type own struct {
	Sequence uint64 `json:"sequence"`
	Replay   bool   `json:"replay"`
	Pause    int    `json:"pause"`
}

// ownMetadata is zero where there is none.
func ownMetadata(m a2a.MetadataCarrier) (o own) {
	text, err := json.Marshal(m.Meta()[extensionURI])
	if err == nil {
		_ = json.Unmarshal(text, &o) // what others write there means nothing to us
	}
	return o
}

// Pause is the number of the pause that a task waits in, which a reply may have to
// name; 0 when it does not wait.
func Pause(t *a2a.Task) int { return ownMetadata(t).Pause }
