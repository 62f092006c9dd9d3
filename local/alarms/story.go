package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// story plays, and remembers which invariants were broken and which are mended.
type story struct {
	out     io.Writer
	root    string
	dir     string // everything thrown away
	runbook map[string]section
	broken  map[string]bool
	mended  map[string]bool
}

// trouble is what is expected of an invariant that was just broken.
type trouble struct {
	id          string
	how         string // it was broken
	color       string
	agent, task string
	mark        []int   // behind which the metric is written; nil: a light only, the metric follows
	least       float64 // of the metric

	seen light
	ran  []string // of the runbook
}

// shows waits until an invariant's light and its metric say that it is broken, runs what
// the runbook says, and prints all of it.
func (s *story) shows(ctx context.Context, on *server, t trouble) error {
	if err := s.sees(ctx, on, &t); err != nil {
		return err
	}
	return s.measured(ctx, on, t)
}

// sees waits until the light says that an invariant is broken, and runs what the runbook
// says.
func (s *story) sees(ctx context.Context, on *server, t *trouble) error {
	err := until(ctx, t.id+" is "+t.color, func(ctx context.Context) (bool, error) {
		var err error
		t.seen, err = on.light(ctx, t.id)
		return err == nil && t.seen.Light == t.color && t.seen.names(t.task), fmt.Errorf("it is %+v (%w)", t.seen, err)
	})
	if err != nil {
		return err
	}
	chapter, there := s.runbook[t.id]
	if !there || !strings.HasSuffix(t.seen.Runbook, "#"+t.id) {
		return fmt.Errorf("the light %s leads to %q, which is no section", t.id, t.seen.Runbook)
	}
	if t.ran, err = chapter.try(ctx, s.dir, on, t.agent, t.task); err != nil {
		return fmt.Errorf("the runbook's section %s: %w", t.id, err)
	}
	return nil
}

// measured waits for the metric of what was seen, unless there can be none, and prints
// all of it.
func (s *story) measured(ctx context.Context, on *server, t trouble) (err error) {
	line := "none: that it is missing is the alarm"
	if t.mark != nil {
		if line, err = s.counted(ctx, on, t.seen.Metric, t); err != nil {
			return err
		}
	}
	s.broken[t.id] = true
	driver.Tell(s.out, "\n%s  %s\n  metric   %s\n  light    %s %s %s: %v, %d tasks\n  runbook  %s\n           ran: %s",
		t.id, t.how, line, t.seen.Light, t.seen.Rule, t.seen.Name, t.seen.Value, t.seen.Count, s.runbook[t.id].means, strings.Join(t.ran, ", "))
	return nil
}

// counted waits for the line of a metric.
func (s *story) counted(ctx context.Context, on *server, metric string, t trouble) (line string, err error) {
	err = until(ctx, fmt.Sprintf("%s of %s is at least %v", metric, t.id, max(t.least, 1)), func(context.Context) (there bool, _ error) {
		line, there = on.metric(t.mark, metric, max(t.least, 1))
		return there, nil
	})
	return line, err
}

// over waits until lights are green again.
func (s *story) over(ctx context.Context, on *server, how string, ids ...string) error {
	for _, id := range ids {
		err := until(ctx, id+" is green again", func(ctx context.Context) (bool, error) {
			l, err := on.light(ctx, id)
			return err == nil && l.Light == "green", fmt.Errorf("it is %+v (%w)", l, err)
		})
		if err != nil {
			return err
		}
		s.mended[id] = true
	}
	driver.Tell(s.out, "\n  green    %s: %s", strings.Join(ids, ", "), how)
	return nil
}

// silent are the watched invariants that were not broken, or not mended.
func (s *story) silent(watched []light) (out []string) {
	for _, l := range watched {
		if !s.broken[l.Invariant] || !s.mended[l.Invariant] {
			out = append(out, l.Invariant)
		}
	}
	for id := range s.runbook {
		if !slices.ContainsFunc(watched, func(l light) bool { return l.Invariant == id }) {
			out = append(out, id)
		}
	}
	return out
}
