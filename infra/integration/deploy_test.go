package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A rolling deploy in which the api is ahead: it accepts tasks of an agent version that
// the step function does not know yet. They wait, and finish once it does; a task of the
// old version that was paused meanwhile ends on its own version.
func TestRollingDeploy(t *testing.T) {
	t.Parallel()
	want := embeddedDigest(t)
	s := newStack(t, plan{sweep: 300 * time.Millisecond})
	ctx := t.Context()
	old, err := send(ctx, s.url+reviewer, submission("before"))
	if err != nil {
		t.Fatal(err)
	}
	s.in(&old, a2a.TaskStateInputRequired)

	newer := built(t, next)
	s.deploy(fnAPI, newer)
	fresh, err := send(ctx, s.url+reviewer, submission("ahead"))
	if err != nil {
		t.Fatal(err)
	}
	name := string(fresh.ID) + "-g1"
	until(t, "the task of the unknown version waits", func() (bool, string) {
		n := s.machine.visited(name, "Wait")
		return n > 0, fmt.Sprintf("%d times in Wait", n)
	})
	until(t, "the sweep has looked at it", func() (bool, string) {
		unknown := 0
		for _, l := range s.logs.lines(fnSweep, "sweep") {
			unknown += l.number("unknown")
		}
		return unknown > 2, fmt.Sprintf("%d looks", unknown)
	})
	waiting, err := verify(ctx, s.auth, refTo(fresh.ID))
	if err != nil {
		t.Error(err)
	}
	if waiting.State != lifecycle.Submitted || waiting.AgentVersion != 2 || len(waiting.entries) != 1 || waiting.Generation != 1 {
		t.Errorf("while the step function is old the task is %s on version %d with %d entries in generation %d", waiting.State, waiting.AgentVersion, len(waiting.entries), waiting.Generation)
	}
	if len(s.logs.lines(fnStep, "agent version is not in the catalog")) == 0 {
		t.Error("the step function did not say that it does not know the version")
	}

	began := time.Now()
	for _, name := range []string{fnStep, fnSettle, fnSweep, fnStream} {
		s.deploy(name, newer)
	}
	s.in(&fresh, a2a.TaskStateInputRequired)
	wentOn := time.Since(began)
	for version, task := range []*a2a.Task{1: &old, 2: &fresh} {
		if task == nil {
			continue
		}
		s.outside.renew(t) // revocations are numbered, and the report tells their numbers
		if _, err := send(ctx, s.url+reviewer, approval(*task, string(task.ID)+"-approval")); err != nil {
			t.Fatal(err)
		}
		s.in(task, a2a.TaskStateCompleted)
		h, err := verify(ctx, s.auth, refTo(task.ID))
		if err != nil {
			t.Error(err)
		}
		steps, err := h.steps()
		if err != nil {
			t.Error(err)
		}
		if fetches := []string{1: "fetch", 2: "collect"}[version]; h.AgentVersion != version || !slices.Contains(steps, fetches) {
			t.Errorf("task %s ended on version %d after the steps %s, want version %d and %s among them", task.ID, h.AgentVersion, strings.Join(steps, ", "), version, fetches)
		}
		if got, err := reportDigest(*task); err != nil || got != want {
			t.Errorf("the report of version %d has the digest %s, %v; want %s", version, got, err, want)
		}
	}
	t.Logf("version 2 waited under the old step function, and asked its question %s after the new one was there; version 1 ended as version 1", wentOn.Round(time.Millisecond))
}

// in waits for a state and reads the task.
func (s *stack) in(task *a2a.Task, state a2a.TaskState) {
	s.Helper()
	until(s.T, fmt.Sprintf("task %s is %s", task.ID, state), func() (bool, string) {
		h, err := s.ledger.Head(context.Background(), refTo(task.ID))
		return err == nil && h.State == state, fmt.Sprint(h.State, err)
	})
	fresh, err := getTask(s.Context(), s.url+reviewer, task.ID)
	if err != nil {
		s.Fatal(err)
	}
	*task = fresh
}

// steps are the steps that a task's checkpoints lead to, each once.
func (h history) steps() (out []string, err error) {
	for _, e := range h.entries {
		ev, err := e.Event()
		if err != nil {
			return nil, err
		}
		if c := ev.Checkpoint; c != nil && !slices.Contains(out, c.Step) {
			out = append(out, c.Step)
		}
	}
	return out, nil
}
