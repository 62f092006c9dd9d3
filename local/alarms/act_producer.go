package main

import (
	"context"
	"fmt"
	"net/http"
)

// outside is the agent that is served from outside.
const outside = "capitals"

// faultyProducer breaks what a producer can break: nothing of it changes a task.
func (s *story) faultyProducer(ctx context.Context, on *server) error {
	if err := on.serve(ctx, "--outside", outside, "--sweep", "300ms"); err != nil {
		return err
	}
	mark := on.written()
	w, err := on.hire(ctx, outside, "producer-1", 60)
	if err != nil {
		return err
	}
	if err := w.report(ctx, http.StatusOK, "one", object{"kind": "status", "text": "Page 1 of 9"}); err != nil {
		return err
	}
	if err := w.report(ctx, http.StatusConflict, "one", object{"kind": "status", "text": "Page 7 of 9"}); err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "conflicting-content", how: "one event ID, two payloads", color: "red", agent: outside, task: w.task, mark: mark}); err != nil {
		return err
	}
	for n := range illegalMoves {
		if err := w.report(ctx, http.StatusConflict, fmt.Sprint("illegal-", n), object{"kind": "cancel"}); err != nil {
			return err
		}
	}
	if err := s.shows(ctx, on, trouble{id: "illegal-transition", how: "a cancellation is acknowledged, five times, that nobody asked for", color: "red", agent: outside, task: w.task, mark: mark}); err != nil {
		return err
	}
	if err := w.report(ctx, http.StatusOK, "end", object{"kind": "complete", "text": "Done."}); err != nil {
		return err
	}
	for n := range lateReports {
		if err := w.report(ctx, http.StatusConflict, fmt.Sprint("late-", n), object{"kind": "status", "text": "Still here"}); err != nil {
			return err
		}
	}
	if err := s.shows(ctx, on, trouble{id: "post-terminal", how: "ten reports after the end", color: "red", agent: outside, task: w.task, mark: mark}); err != nil {
		return err
	}
	return s.over(ctx, on, "the producer has stopped, and "+window+" have passed", "conflicting-content", "illegal-transition", "post-terminal")
}
