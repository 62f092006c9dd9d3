package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// shorten gives the step function pauses that are short, and the state machine an Await that the emulator can time out.
func (t *test) shorten(ctx context.Context) error {
	if err := t.replace(ctx, "StepFunction", map[string]edit{helloSource: nextVersion, pauseSource: shortPause}); err != nil {
		return err
	}
	return t.redefine(ctx)
}

// redefine fills in the substitutions as CloudFormation did: the deployed definition is changed in one place.
func (t *test) redefine(ctx context.Context) error {
	var deployed struct {
		Definition string `json:"definition"`
	}
	machine := t.cloud.resources["TaskMachine"]
	if err := t.aws(ctx, &deployed, "stepfunctions", "describe-state-machine", "--state-machine-arn", machine); err != nil {
		return err
	}
	changed, err := literalTimeout.apply([]byte(deployed.Definition))
	if err != nil {
		return err
	}
	file := filepath.Join(t.dir, "short.asl.json")
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return err
	}
	return t.aws(ctx, nil, "stepfunctions", "update-state-machine", "--state-machine-arn", machine, "--definition", "file://"+file)
}

// expire lets a pause pass its deadline. Settle commits what the agent declared for that case, and an execution whose
// task failed ends red.
func (t *test) expire(ctx context.Context) error {
	body, err := say("review-unanswered", "Review all systems", nil)
	if err != nil {
		return err
	}
	sent, err := t.api.send(ctx, reviewAgent, body)
	if err != nil {
		return err
	}
	if _, err := t.api.reaches(ctx, reviewAgent, sent.ID, stateInput); err != nil {
		return err
	}
	parked := time.Now()
	var end task
	err = t.until(ctx, "the task has ended", waitTime, func(ctx context.Context) (bool, error) {
		if end, err = t.api.task(ctx, reviewAgent, sent.ID); err != nil {
			return false, err
		}
		return slices.Contains([]string{stateFailed, stateCanceled, stateRejected, stateCompleted}, end.Status.State), fmt.Errorf("it is %s", end.Status.State)
	})
	if err != nil {
		return err
	}
	entered, status, err := t.states(ctx, sent.ID)
	if err != nil {
		return err
	}
	t.say("%s after %.0f s: %s, %s", end.Status.State, time.Since(parked).Seconds(), strings.Join(entered, " "), status)
	if end.Status.State != stateFailed || status != "FAILED" || !slices.Contains(entered, "Settle") || entered[len(entered)-1] != "Failed" {
		return fmt.Errorf("the task is %s, its execution went through %q and %s", end.Status.State, entered, status)
	}
	t.seen.expired = true
	return nil
}
