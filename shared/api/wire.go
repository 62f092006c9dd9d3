package api

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// wireTask is a task as both bindings write it: the SDK's, but with timestamps in
// milliseconds (A2A §5.6.1) and a say in whether artifacts are there (§3.1.4).
type wireTask struct {
	ID        a2a.TaskID       `json:"id"`
	ContextID string           `json:"contextId"`
	Status    wireStatus       `json:"status"`
	Artifacts *[]*a2a.Artifact `json:"artifacts,omitempty"`
	History   []*a2a.Message   `json:"history,omitempty"`
	Metadata  map[string]any   `json:"metadata,omitempty"`
}

type wireStatus struct {
	State     a2a.TaskState `json:"state"`
	Message   *a2a.Message  `json:"message,omitempty"`
	Timestamp wireTime      `json:"timestamp"`
}

type wireStatusUpdate struct {
	TaskID    a2a.TaskID     `json:"taskId"`
	ContextID string         `json:"contextId"`
	Status    wireStatus     `json:"status"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// wireEvent is a StreamResponse (§3.2.3), and with a task the answer to
// SendMessage as well: exactly one field is set.
type wireEvent struct {
	Task           *wireTask                    `json:"task,omitempty"`
	StatusUpdate   *wireStatusUpdate            `json:"statusUpdate,omitempty"`
	ArtifactUpdate *a2a.TaskArtifactUpdateEvent `json:"artifactUpdate,omitempty"`
}

// wireTime is an instant in UTC with milliseconds, always three digits.
type wireTime time.Time

// MarshalJSON implements json.Marshaler.
func (t wireTime) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, `"2006-01-02T15:04:05.000Z"`), nil
}

func wireStatusOf(s a2a.TaskStatus) wireStatus {
	out := wireStatus{State: s.State, Message: s.Message}
	if s.Timestamp != nil {
		out.Timestamp = wireTime(*s.Timestamp)
	}
	return out
}

// wireTaskOf is a task with at most so many of its latest messages, all if unset
// (§3.2.4).
func wireTaskOf(t *a2a.Task, history *int) *wireTask {
	out := &wireTask{ID: t.ID, ContextID: t.ContextID, Status: wireStatusOf(t.Status), History: t.History, Metadata: t.Metadata}
	if history != nil && *history < len(t.History) {
		out.History = t.History[len(t.History)-*history:]
	}
	if len(t.Artifacts) > 0 {
		out.Artifacts = &t.Artifacts
	}
	return out
}

// wireUpdateOf is an update as a stream carries it.
func wireUpdateOf(update a2a.Event) wireEvent {
	switch u := update.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return wireEvent{StatusUpdate: &wireStatusUpdate{TaskID: u.TaskID, ContextID: u.ContextID, Status: wireStatusOf(u.Status), Metadata: u.Metadata}}
	case *a2a.TaskArtifactUpdateEvent:
		return wireEvent{ArtifactUpdate: u}
	default:
		return wireEvent{}
	}
}
