package receiver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Update is one update of a task, as the sender has signed it.
type Update struct {
	ID       string `json:"id"` // webhook-id: the same on every attempt
	Task     string `json:"task"`
	Sequence uint64 `json:"sequence"` // rises within the task, with gaps
	Kind     string `json:"kind"`     // statusUpdate, artifactUpdate, task
	// State is the task's, empty if the update does not say.
	State string `json:"state,omitempty"`
	// Body is one StreamResponse (A2A §4.3.3).
	Body json.RawMessage `json:"body"`
}

// part is what we read of whatever stands in a StreamResponse.
type part struct {
	ID       string `json:"id"`     // of a task
	TaskID   string `json:"taskId"` // of everything else
	Status   *status
	Metadata struct {
		Own struct {
			Sequence uint64 `json:"sequence"`
		} `json:"urn:holdfast:a2a:durable-task:v1"` //nolint:tagliatelle // the extension's URI
	} `json:"metadata"`
}

type status struct {
	State string `json:"state"`
}

// readUpdate reads a verified body.
func readUpdate(id string, h http.Header, body []byte) (Update, error) {
	var parts map[string]part
	if err := json.Unmarshal(body, &parts); err != nil {
		return Update{}, refusal{http.StatusBadRequest, fmt.Errorf("it is no update: %w", err)}
	}
	u := Update{ID: id, Body: body}
	for kind, p := range parts {
		u.Kind, u.Task, u.Sequence = kind, p.TaskID, p.Metadata.Own.Sequence
		if kind == "task" {
			u.Task = p.ID
		}
		if p.Status != nil {
			u.State = p.Status.State
		}
	}
	if len(parts) != 1 || u.Task == "" || u.Sequence == 0 {
		return Update{}, refusal{http.StatusBadRequest, errors.New("it names no task and sequence")}
	}
	// The header is for proxies and logs. Nobody has signed it.
	if header := h.Get("Holdfast-Sequence"); header != strconv.FormatUint(u.Sequence, 10) {
		return Update{}, refusal{http.StatusBadRequest, fmt.Errorf("its header says sequence %.20q, what is signed says %d", header, u.Sequence)}
	}
	return u, nil
}
