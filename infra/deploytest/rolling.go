package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Sources that later builds change.
const (
	helloSource = "shared/catalog/hello/hello.go"
	pauseSource = "shared/catalog/accessreview/accessreview.go"
)

// ahead is a deploy in which the API comes first: it accepts a task of an agent version that the step function does not
// know. The task waits, and starts when the step function is there too.
func (t *test) ahead(ctx context.Context) error {
	if err := t.replace(ctx, "ApiFunction", map[string]edit{helloSource: nextVersion}); err != nil {
		return err
	}
	body, err := say("rolling-1", "Grace", nil)
	if err != nil {
		return err
	}
	sent, err := t.api.send(ctx, "", body)
	if err != nil {
		return err
	}
	if err := t.until(ctx, "the execution waits", waitTime, func(ctx context.Context) (bool, error) {
		entered, err := t.entered(ctx, sent.ID)
		return slices.Contains(entered, "Wait"), err
	}); err != nil {
		return err
	}
	waiting, err := t.api.task(ctx, "", sent.ID)
	if err == nil && waiting.Status.State != "TASK_STATE_SUBMITTED" {
		err = errors.New("the task is " + waiting.Status.State)
	}
	if err != nil {
		return err
	}
	if err := t.replace(ctx, "StepFunction", map[string]edit{helloSource: nextVersion}); err != nil {
		return err
	}
	done, err := t.api.reaches(ctx, "", sent.ID, stateCompleted)
	if got := text(done.Status.Message.Parts); err == nil && got != "Hello, Grace!" {
		err = fmt.Errorf("it says %q", got)
	}
	return err
}

// replace gives a function a build of changed sources, by an overlay of the Go compiler: the tree stays as it is.
func (t *test) replace(ctx context.Context, function string, changes map[string]edit) error {
	folder := filepath.Join(t.dir, "_changed", function) // go ./... passes over _ folders
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	changed := map[string]string{}
	for source, change := range changes {
		whole, err := filepath.Abs(source)
		if err != nil {
			return err
		}
		changed[whole] = filepath.Join(folder, filepath.Base(source))
		if err := rewrite(source, changed[whole], change); err != nil {
			return err
		}
	}
	text, err := json.Marshal(object{"Replace": changed})
	if err != nil {
		return err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return err
	}
	environment := []string{"GOARCH=" + runtime.GOARCH, "GOFLAGS=-buildvcs=false -overlay=" + overlay, "ARTIFACTS_DIR=" + folder}
	if _, err := t.command(ctx, environment, "make", "build-"+function); err != nil {
		return err
	}
	archive := filepath.Join(folder, "function.zip")
	if err := pack(archive, filepath.Join(folder, "bootstrap")); err != nil {
		return err
	}
	return t.aws(ctx, nil, "lambda", "update-function-code", "--function-name", t.cloud.resources[function], "--zip-file", "fileb://"+archive)
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
