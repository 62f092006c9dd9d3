// These tests talk HTTP to the compiled binary of testdata/probe, which runs as a
// child process of infra/lambdahost. Real: the binary, aws-lambda-go's runtime client,
// the framing of a streamed answer, the process's death. Stood in for: Lambda and API
// Gateway, by the host and its front. Nothing may be asserted about what API Gateway
// does with an aborted answer, which AWS does not document.
package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

var probe string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "probe")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	probe = filepath.Join(folder, "bootstrap")
	if out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", probe, "./testdata/probe").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the probe: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// logBook keeps what the processes print.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type world struct {
	url      string
	function *lambdahost.Function
	front    *lambdahost.Front
	logs     *logBook
}

// serve starts the probe behind a front.
func serve(t *testing.T, set func(*lambdahost.Config, *lambdahost.Front)) *world {
	t.Helper()
	w := &world{logs: &logBook{}}
	c := lambdahost.Config{Binary: probe, Name: "probe", Processes: 2, Logs: w.logs, Now: time.Now}
	w.front = &lambdahost.Front{Now: time.Now, Timeout: patience}
	if set != nil {
		set(&c, w.front)
	}
	w.function = lambdahost.New(c)
	t.Cleanup(w.function.Close)
	w.front.Function = w.function
	s := httptest.NewServer(w.front)
	t.Cleanup(s.Close)
	w.url = s.URL
	return w
}

func (w *world) do(t *testing.T, method, path string, body []byte, header http.Header) (*http.Response, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v after %q", method, path, err, got)
	}
	return resp, got
}

// seen is what the probe's echo saw.
type seen struct {
	Method, Path, Escaped, URI, Host, IP, Base string
	Query                                      map[string][]string
	Header                                     http.Header
	Body                                       []byte
	Length                                     int64
}

func (w *world) echo(t *testing.T, method, path string, body []byte, header http.Header) seen {
	t.Helper()
	resp, got := w.do(t, method, path, body, header)
	var s seen
	if err := json.Unmarshal(got, &s); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s answered %s %q", method, path, resp.Status, got)
	}
	return s
}
