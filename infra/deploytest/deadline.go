package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	pauseSource = "shared/catalog/accessreview/accessreview.go"
	machineFile = "statemachine/task.asl.json"
)

// shorten gives the step function a build whose pauses are short, and the state machine an Await that the emulator can
// time out. It is also what a deploy with tasks in flight is: new code under the same machine.
func (t *test) shorten(ctx context.Context) error {
	source, err := t.edited(pauseSource, "short-pause.go", shortPause)
	if err != nil {
		return err
	}
	whole, err := filepath.Abs(pauseSource)
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(object{"Replace": map[string]string{whole: source}})
	if err != nil {
		return err
	}
	file := filepath.Join(t.dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	folder := filepath.Join(t.dir, "short")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	if _, err := t.command(ctx, []string{"GOARCH=" + runtime.GOARCH, "GOFLAGS=-buildvcs=false -overlay=" + file, "ARTIFACTS_DIR=" + folder}, "make", "build-StepFunction"); err != nil {
		return err
	}
	archive := filepath.Join(t.dir, "short.zip")
	if err := pack(archive, filepath.Join(folder, "bootstrap")); err != nil {
		return err
	}
	if err := t.aws(ctx, nil, "lambda", "update-function-code", "--function-name", t.cloud.resources["StepFunction"], "--zip-file", "fileb://"+archive); err != nil {
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

// pack makes the zip file of a function.
func pack(archive, binary string) (err error) {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	in, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	z := zip.NewWriter(out)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	return z.Close()
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
