// Real here: a compiled function (testdata/function) with aws-lambda-go's runtime
// client, its processes and their death. Lambda is what is tested.
package lambdahost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

const patience = time.Minute

var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "function")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "bootstrap")
	if out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary, "./testdata/function").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the function: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// watched is a log that tells when a word was printed.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	word string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	for range strings.Count(string(p), w.word) {
		w.seen <- struct{}{}
	}
	return len(p), nil
}

func start(t *testing.T, processes int, env ...string) (*lambdahost.Function, *watched) {
	t.Helper()
	logs := &watched{word: "hanging", seen: make(chan struct{}, 16)}
	f := lambdahost.New(lambdahost.Config{Binary: binary, Name: "f", Env: env, Processes: processes, Logs: logs, Now: time.Now})
	t.Cleanup(f.Close)
	return f, logs
}

func call(t *testing.T, f *lambdahost.Function, do, text string) (string, error) {
	t.Helper()
	got, err := f.Call(t.Context(), fmt.Appendf(nil, `{"do":%q,"text":%q}`, do, text), time.Now().Add(patience))
	return string(got), err
}

func wantType(t *testing.T, err error, kind string) {
	t.Helper()
	if failed, ok := errors.AsType[*lambdahost.FunctionError](err); !ok || failed.Type != kind {
		t.Errorf("got %v, want a function error of type %s", err, kind)
	}
}

func TestCalls(t *testing.T) {
	f, _ := start(t, 1)
	for _, text := range []string{"a", "b"} {
		if got, err := call(t, f, "", text); err != nil || got != `{"limited":true,"text":"`+text+`"}` {
			t.Errorf("got %s, %v", got, err)
		}
	}
	_, err := call(t, f, "fail", "no luck")
	wantType(t, err, "errorString")
	if n := len(f.Inits()); n != 1 {
		t.Errorf("%d processes, want 1: an error does not cost the process", n)
	}
	_, err = call(t, f, "panic", "x")
	wantType(t, err, "string")
	if got, err := call(t, f, "", "c"); err != nil || !strings.Contains(got, `"c"`) || len(f.Inits()) != 2 {
		t.Errorf("after a panic: %s, %v, %d processes", got, err, len(f.Inits()))
	}
}

func TestSizes(t *testing.T) {
	f, _ := start(t, 1)
	_, err := call(t, f, "large", "")
	wantType(t, err, "Function.ResponseSizeTooLarge")
	if _, err := call(t, f, "", strings.Repeat("x", 6<<20)); !errors.Is(err, lambdahost.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// TestConcurrency: as many processes as are allowed, and then no more.
func TestConcurrency(t *testing.T) {
	f, logs := start(t, 2)
	ctx, leave := context.WithCancel(t.Context())
	for range 2 {
		go func() { _, _ = f.Call(ctx, []byte(`{"do":"hang"}`), time.Now().Add(patience)) }()
		<-logs.seen
	}
	if _, err := call(t, f, "", ""); !errors.Is(err, lambdahost.ErrThrottled) {
		t.Errorf("got %v", err)
	}
	leave() // whoever goes away frees nothing
	if _, err := call(t, f, "", ""); !errors.Is(err, lambdahost.ErrThrottled) {
		t.Errorf("got %v", err)
	}
	if n := f.Kill(); n != 2 {
		t.Errorf("%d processes were killed, want 2", n)
	}
	if _, err := call(t, f, "", ""); err != nil {
		t.Errorf("after the kill: %v", err)
	}
}

// TestKilled: SIGKILL in the middle of an invocation, fifty times.
func TestKilled(t *testing.T) {
	f, logs := start(t, 1)
	for range 50 {
		failed := make(chan error)
		go func() {
			_, err := f.Call(context.Background(), []byte(`{"do":"hang"}`), time.Now().Add(patience))
			failed <- err
		}()
		<-logs.seen
		f.Kill()
		wantType(t, <-failed, "Runtime.ExitError")
	}
	if _, err := call(t, f, "", ""); err != nil || len(f.Inits()) != 51 {
		t.Errorf("%v after %d processes", err, len(f.Inits()))
	}
}

func TestDeadline(t *testing.T) {
	f, _ := start(t, 1)
	_, err := f.Call(t.Context(), []byte(`{"do":"hang"}`), time.Now().Add(300*time.Millisecond))
	wantType(t, err, "Sandbox.Timedout")
	if _, err := call(t, f, "", ""); err != nil {
		t.Errorf("after the timeout: %v", err)
	}
}

func TestCannotStart(t *testing.T) {
	f, logs := start(t, 1, "FAIL_AT_START=1")
	_, err := call(t, f, "", "")
	wantType(t, err, "Runtime.ExitError")
	f.Close()
	if !strings.Contains(logs.text.String(), "cannot start") {
		t.Errorf("logs: %s", logs.text.String())
	}
	if _, err := call(t, f, "", ""); !errors.Is(err, lambdahost.ErrClosed) {
		t.Errorf("got %v", err)
	}
	none := lambdahost.New(lambdahost.Config{Binary: binary + "-gone", Name: "f", Now: time.Now})
	if _, err := none.Call(t.Context(), []byte("{}"), time.Now().Add(patience)); err == nil {
		t.Error("a binary that is not there was started")
	}
}

// TestEnvironment: what Lambda sets, what the test adds, and nothing of the machine's.
func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THIS_MACHINE", "1")
	f, _ := start(t, 1, "EXTRA=2", "AWS_REGION=eu-west-1")
	got, err := call(t, f, "environment", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"AWS_LAMBDA_FUNCTION_NAME=f"`, `"EXTRA=2"`, `"AWS_REGION=eu-west-1"`, `"_HANDLER=bootstrap"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "OF_THIS_MACHINE") {
		t.Errorf("the machine's environment leaks: %s", got)
	}
}

// TestFrontSpeaksForTheFunction: whatever is no streamed HTTP answer is a 502.
func TestFrontSpeaksForTheFunction(t *testing.T) {
	f, _ := start(t, 1)
	server := httptest.NewServer(&lambdahost.Front{Function: f, Now: time.Now, Timeout: patience})
	defer server.Close()
	resp, err := http.Get(server.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway {
		t.Errorf("got %s", resp.Status)
	}
}
