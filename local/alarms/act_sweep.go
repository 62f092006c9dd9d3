package main

import (
	"context"
	"net/http"
	"time"
)

// never is how often the sweep of a server runs that is as good as without one; often is
// a sweep that runs.
var (
	never = []string{"--sweep", "1h"}
	often = []string{"--sweep", "200ms"}
)

// later is what leaves more time behind than anything below is given.
const later = 2 * time.Minute

// ahead are the flags of a server whose clock is ahead.
func ahead(d time.Duration, flags []string) []string {
	return append([]string{"--ahead", d.String()}, flags...)
}

// deadSweep leaves what time alone makes due to a server whose sweep does not run.
func (s *story) deadSweep(ctx context.Context, on *server) error {
	if err := on.serve(ctx, never...); err != nil {
		return err
	}
	asks, err := on.hire(ctx, outside, "sweep-1", 60)
	if err != nil {
		return err
	}
	if err := asks.report(ctx, http.StatusOK, "ask", object{"kind": "pause", "text": "Which one?", "pause": object{"for": "input", "timeoutSeconds": 1}}); err != nil {
		return err
	}
	leaves, err := on.hire(ctx, outside, "sweep-2", 1)
	if err != nil {
		return err
	}
	if err := on.restart(ctx, kill, ahead(later, never)...); err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "sweep-silent", how: "a server whose sweep runs once an hour", color: "red"}); err != nil {
		return err
	}
	// Their metrics are measured by the first sweep there is, before it mends them.
	states := []trouble{
		{id: "pause-past-due", how: "a question whose deadline has passed, and no sweep", color: "red", agent: outside, task: asks.task},
		{id: "task-past-due", how: "a worker that has gone, and no sweep", color: "red", agent: outside, task: leaves.task},
	}
	for i := range states {
		if err := s.sees(ctx, on, &states[i]); err != nil {
			return err
		}
	}
	mark := on.written()
	if err := on.restart(ctx, kill, ahead(later, often)...); err != nil {
		return err
	}
	for _, t := range states {
		t.mark = mark
		if err := s.measured(ctx, on, t); err != nil {
			return err
		}
	}
	if _, err := s.counted(ctx, on, "Sweeps", trouble{id: "sweep-silent", mark: mark}); err != nil {
		return err
	}
	return s.over(ctx, on, "a server whose sweep runs", "sweep-silent", "pause-past-due", "task-past-due")
}

// takenOut takes an agent version out of the catalog that still has a task.
func (s *story) takenOut(ctx context.Context, on *server) error {
	newer := ahead(later, append([]string{"--newer"}, often...))
	if err := on.restart(ctx, stop, newer...); err != nil {
		return err
	}
	task, err := on.send(ctx, "two-steps", "version-1", "go")
	if err != nil {
		return err
	}
	mark := on.written()
	if err := on.restart(ctx, kill, ahead(later, often)...); err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "unknown-version", how: "a build without the version of a task (amber; red after a quarter of an hour)", color: "amber", agent: "two-steps", task: task, mark: mark}); err != nil {
		return err
	}
	if err := on.restart(ctx, stop, newer...); err != nil {
		return err
	}
	return s.over(ctx, on, "a build that has it again", "unknown-version")
}

// unforgotten lets tasks expire on a server that does not purge them.
func (s *story) unforgotten(ctx context.Context, on *server) error {
	const expired = 40 * 24 * time.Hour
	if err := on.restart(ctx, stop, ahead(expired, never)...); err != nil {
		return err
	}
	t := trouble{id: "purge-behind", how: "tasks that expired ten days ago by the server's clock, and no purge", color: "red"}
	if err := s.sees(ctx, on, &t); err != nil {
		return err
	}
	t.mark = on.written()
	if err := on.restart(ctx, stop, ahead(expired, often)...); err != nil {
		return err
	}
	if err := s.measured(ctx, on, t); err != nil {
		return err
	}
	return s.over(ctx, on, "a server that purges", t.id)
}
