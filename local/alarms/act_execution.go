package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// unanswered makes an outside call whose answer does not come, and an operator says what
// became of it.
func (s *story) unanswered(ctx context.Context, on *server) error {
	if err := on.serve(ctx, often...); err != nil {
		return err
	}
	mark := on.written()
	task, err := on.send(ctx, "held", "effect-1", "pay")
	if err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "effect-in-doubt", how: "an outside call whose answer was lost, held for an operator", color: "red", agent: "held", task: task, mark: mark}); err != nil {
		return err
	}
	if err := s.settle(ctx, on, task); err != nil {
		return err
	}
	if err := completed(ctx, on, "held", task); err != nil {
		return err
	}
	said, err := driver.Output(ctx, s.dir, filepath.Join(s.dir, "holdfast"), "reconcile", "--server", on.url(), "--agent", "held", task)
	if err != nil || !strings.Contains(said, "evidence: operator local") || !strings.Contains(said, "receipt 7") {
		return fmt.Errorf("the settled effect of %s: %s (%w)", task, said, err)
	}
	return s.over(ctx, on, "an operator has asked the other side, and settled it", "effect-in-doubt")
}

// brokenFolder takes entries out of the histories of tasks at work: executions cannot
// load them, and nobody can read them.
func (s *story) brokenFolder(ctx context.Context, on *server) error {
	var tasks []string
	for n := range failedExecutions {
		task, err := on.send(ctx, "two-steps", fmt.Sprint("execution-", n), "go")
		if err != nil {
			return err
		}
		tasks = append(tasks, task)
	}
	err := until(ctx, "they sleep between their steps", func(ctx context.Context) (bool, error) {
		for _, task := range tasks {
			var page struct {
				Head struct{ Visit int }
			}
			if err := on.must(ctx, http.MethodGet, "/two-steps/tasks/"+task+"/ledger", nil, &page); err != nil || page.Head.Visit < 2 {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if err := kill(on.process); err != nil {
		return err
	}
	mark := on.written()
	if err := s.trial(ctx, "damage", "--data", on.data); err != nil {
		return err
	}
	if err := on.serve(ctx, often...); err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "execution-failed", how: "five tasks whose first and last entries are taken out of the data folder", color: "red", agent: "two-steps", task: tasks[0], mark: mark}); err != nil {
		return err
	}
	for n := range faults {
		if status, text, err := on.ask(ctx, http.MethodGet, "/two-steps/tasks/"+tasks[n], nil); err != nil || status != http.StatusInternalServerError {
			return fmt.Errorf("a task that cannot be read: %d %.200s (%w)", status, text, err)
		}
	}
	if err := s.shows(ctx, on, trouble{id: "faulty", how: "five requests for tasks that cannot be read", color: "red", mark: mark}); err != nil {
		return err
	}
	if err := stop(on.process); err != nil {
		return err
	}
	if err := s.trial(ctx, "damage", "--data", on.data, "--undo"); err != nil {
		return err
	}
	if err := on.serve(ctx, often...); err != nil {
		return err
	}
	for _, task := range tasks {
		if err := completed(ctx, on, "two-steps", task); err != nil {
			return err
		}
	}
	return s.over(ctx, on, "the folder is as it was, all five tasks are completed, and "+window+" have passed", "execution-failed", "faulty")
}

// completed waits until a task is.
func completed(ctx context.Context, on *server, agent, task string) error {
	return until(ctx, "task "+task+" is completed", func(ctx context.Context) (bool, error) {
		var got struct{ Status struct{ State string } }
		err := on.must(ctx, http.MethodGet, "/"+agent+"/tasks/"+task, nil, &got)
		return got.Status.State == "TASK_STATE_COMPLETED", err
	})
}

// trial runs a command of the trial server.
func (s *story) trial(ctx context.Context, args ...string) error {
	_, err := driver.Output(ctx, s.dir, filepath.Join(s.dir, "trial"), args...)
	return err
}
