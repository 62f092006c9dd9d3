package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// The functions, as they are deployed.
const (
	fnAPI     = "api"
	fnStep    = "step"
	fnSettle  = "settle"
	fnStream  = "stream"
	fnDeliver = "deliver"
	fnSweep   = "sweep"
)

// build is one build of the functions, by its folder.
type build string

func (b build) binary(function string) string { return filepath.Join(string(b), function) }

var (
	binariesDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "holdfast-functions-") })
	current     = sync.OnceValues(func() (build, error) { return compile("current", "lambda.norpc") })
	next        = sync.OnceValues(func() (build, error) { return compile("next", "lambda.norpc,next") })
	trial       = sync.OnceValues(compileTrial)
)

// compileTrial builds the functions with the agent of testdata/trial in the place of
// hello: what the tests want an agent to do, the shipped ones do not.
func compileTrial() (build, error) {
	dir, err := binariesDir()
	if err != nil {
		return "", err
	}
	replaced, errReplaced := filepath.Abs("../../shared/catalog/hello/hello.go")
	by, errBy := filepath.Abs("testdata/trial/trial.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {replaced: by}})
	file := filepath.Join(dir, "trial.json")
	if err := errors.Join(errReplaced, errBy, err, os.WriteFile(file, overlay, 0o600)); err != nil {
		return "", err
	}
	return compile("trial", "lambda.norpc", "-overlay", file)
}

// compile builds all functions once, with the flags of a deployment but for the
// architecture, which is this machine's.
func compile(name, tags string, flags ...string) (build, error) {
	dir, err := binariesDir()
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, name)
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", err
	}
	args := append([]string{"build", "-tags", tags, "-trimpath", "-o", out + string(filepath.Separator)}, flags...)
	cmd := exec.Command("go", append(args, "../../functions/...")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build -tags %s ./functions/...: %w\n%s", tags, err, text)
	}
	return build(out), nil
}

// built is a build that must be there.
func built(t *testing.T, which func() (build, error)) build {
	t.Helper()
	b, err := which()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func removeBinaries() {
	dir, err := binariesDir()
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
