package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// worker is an outside producer, and a faulty one when it is told so.
type worker struct {
	*server
	agent, task string
	fence       uint64
	seq         int
}

// event reports, and returns the status of the answer. Go writes the members of objects
// sorted, which is their canonical order.
func (w *worker) event(ctx context.Context, id string, seq int, payload object) (int, error) {
	content, err := json.Marshal(payload)
	if err != nil {
		return 0, err
	}
	body := object{
		"eventId": id, "producer": "w1", "payload": json.RawMessage(content), "payloadDigest": fmt.Sprintf("%x", sha256.Sum256(content)),
		"observedAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if w.fence > 0 {
		body["fence"] = w.fence
	}
	if seq > 0 {
		body["sourceSequence"] = seq
	}
	status, text, err := w.ask(ctx, http.MethodPost, "/"+w.agent+"/tasks/"+w.task+"/events", body)
	var answer struct{ Fence uint64 }
	if err == nil && status == http.StatusOK && json.Unmarshal(text, &answer) == nil && answer.Fence > 0 {
		w.fence = answer.Fence
	}
	return status, err
}

// report is an event that must be answered with a status; one that is taken counts.
func (w *worker) report(ctx context.Context, status int, id string, payload object) error {
	seq := 0
	if payload["kind"] != "claim" {
		seq = w.seq + 1
	}
	got, err := w.event(ctx, id, seq, payload)
	if err == nil && got != status {
		err = fmt.Errorf("event %s of task %s: %d, want %d", id, w.task, got, status)
	}
	if err == nil && got == http.StatusOK && seq > 0 {
		w.seq = seq
	}
	return err
}

// hire submits a task to an agent that is served from outside, and claims it.
func (s *server) hire(ctx context.Context, agent, id string, leaseSeconds int) (*worker, error) {
	task, err := s.send(ctx, agent, id, "work")
	w := &worker{server: s, agent: agent, task: task}
	if err == nil {
		err = w.report(ctx, http.StatusOK, "claim", object{"kind": "claim", "leaseSeconds": leaseSeconds})
	}
	return w, err
}
