package boot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

// maxBinaryBytes bounds what Lambda fetches and starts. The aim is 12 MB on arm64, which
// make template measures; other processors take about a twelfth more.
const maxBinaryBytes = 14 << 20

// functions are the binaries, built as a deployment builds them.
func functions(tb testing.TB) string {
	tb.Helper()
	folder := tb.TempDir()
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", folder, "../../functions/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("building the functions: %v\n%s", err, out)
	}
	return folder
}

// environ is a configuration for binaries; the tables are nowhere.
func environ(key string) []string {
	sum := sha256.Sum256([]byte(key))
	return append(append([]string(nil), complete[:6]...), `HOLDFAST_API_KEYS=[{"tenant":"acme","name":"ci","sha256":"`+hex.EncodeToString(sum[:])+`"}]`)
}

// TestBinaries: real are the six functions' compiled mains, the runtime client and the
// gateway; Lambda and API Gateway are infra/lambdahost. The tables are not there, so
// nothing is asserted of what the ledger answers: infra/dynamo's integration does that.
func TestBinaries(t *testing.T) {
	folder := functions(t)
	for _, name := range []string{"api", "step", "settle", "stream", "sweep", "deliver"} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-7s %5.1f MB", name, float64(info.Size())/1e6)
		if info.Size() > maxBinaryBytes {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), maxBinaryBytes)
		}
	}
	t.Run("api", func(t *testing.T) { testAPI(t, filepath.Join(folder, "api")) })
	t.Run("stream", func(t *testing.T) {
		f := hosted(t, filepath.Join(folder, "stream"), environ("x"), nil)
		got, err := f.Call(t.Context(), []byte(`{"Records":[`+record("1", "#", "MODIFY")+`,`+record("2", "e#zzz", "INSERT")+`]}`), time.Now().Add(time.Minute))
		if err != nil || string(got) != `{"batchItemFailures":[{"itemIdentifier":"2"}]}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("step", func(t *testing.T) {
		f := hosted(t, filepath.Join(folder, "step"), environ("x"), nil)
		_, err := f.Call(t.Context(), []byte(`{"op":"settle"}`), time.Now().Add(time.Minute))
		if failed, ok := errors.AsType[*lambdahost.FunctionError](err); !ok || !strings.Contains(failed.Message, `not "settle"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("deliver", func(t *testing.T) {
		// No other operation, and the ledger's trouble is waited for.
		f := hosted(t, filepath.Join(folder, "deliver"), append(environ("x"), "AWS_ENDPOINT_URL=http://127.0.0.1:1"), nil)
		_, err := f.Call(t.Context(), []byte(`{"op":"run"}`), time.Now().Add(time.Minute))
		if failed, ok := errors.AsType[*lambdahost.FunctionError](err); !ok || !strings.Contains(failed.Message, "no operation of statemachine/delivery.asl.json") {
			t.Errorf("got %v", err)
		}
		got, err := f.Call(t.Context(), []byte(`{"op":"deliver","tenant":"t","taskId":"x","endpoint":"e","generation":1,"outcome":{"seconds":0,"turns":3}}`), time.Now().Add(time.Minute))
		if err != nil || string(got) != `{"word":"wait","seconds":30,"turns":4}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("misconfigured", func(t *testing.T) {
		for _, name := range []string{"api", "step", "settle", "sweep"} {
			var logs bytes.Buffer
			f := hosted(t, filepath.Join(folder, name), []string{"HOLDFAST_API_KEYS=" + planted}, &logs)
			_, err := f.Call(t.Context(), []byte(`{}`), time.Now().Add(time.Minute))
			if failed, ok := errors.AsType[*lambdahost.FunctionError](err); !ok || failed.Type != "Runtime.ExitError" {
				t.Errorf("%s: %v", name, err)
			}
			if text := logs.String(); !strings.Contains(text, "HOLDFAST_TASKS_TABLE is not set") || !strings.Contains(text, "HOLDFAST_STATE_MACHINE is not set") || strings.Contains(text, planted) {
				t.Errorf("%s says: %s", name, text)
			}
		}
	})
}

func hosted(tb testing.TB, binary string, env []string, logs io.Writer) *lambdahost.Function {
	tb.Helper()
	f := lambdahost.New(lambdahost.Config{Binary: binary, Name: filepath.Base(binary), Env: env, Logs: logs, Now: time.Now})
	tb.Cleanup(f.Close)
	return f
}

func testAPI(t *testing.T, binary string) {
	key := strings.Repeat("k", 20) + planted
	var logs bytes.Buffer
	f := hosted(t, binary, environ(key), &logs)
	server := httptest.NewServer(&lambdahost.Front{Function: f, Now: time.Now, Timeout: time.Minute, Stage: "v1"})
	defer server.Close()
	do := func(method, path, credential string, body []byte) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/v1"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("A2A-Version", "1.0")
		if credential != "" {
			r.Header.Set("Authorization", "Bearer "+credential)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(got), resp.Header
	}
	status, body, _ := do(http.MethodGet, "/.well-known/agent-card.json", "", nil)
	var card struct {
		SupportedInterfaces []struct{ URL string }
	}
	if err := json.Unmarshal([]byte(body), &card); err != nil || status != http.StatusOK || len(card.SupportedInterfaces) == 0 || card.SupportedInterfaces[0].URL != server.URL+"/v1/rpc" {
		t.Errorf("the card: %d %s", status, body)
	}
	// A stranger learns the same of every task, whether it is there or not.
	first := ""
	for _, path := range []string{"/tasks/a", "/tasks/b:cancel", "/tasks", "/tasks/a/ledger"} {
		method := http.MethodGet
		if strings.Contains(path, ":") {
			method = http.MethodPost
		}
		status, body, header := do(method, path, "wrong-"+key, nil)
		if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") == "" || strings.Contains(body, key) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if first == "" {
			first = body
		}
		if body != first && !strings.Contains(path, "ledger") {
			t.Errorf("%s answers %s, another %s", path, body, first)
		}
	}
	if status, body, _ := do(http.MethodPost, "/message:send", key, bytes.Repeat([]byte(" "), 4<<20+1)); status != http.StatusRequestEntityTooLarge || !strings.Contains(body, "4194304") {
		t.Errorf("a large request: %d %s", status, body)
	}
	if status, body, _ := do(http.MethodPost, "/message:send", key, []byte(`{"message":{}}`)); status != http.StatusBadRequest || !strings.Contains(body, "INVALID_PARAMS") {
		t.Errorf("an incomplete request: %d %s", status, body)
	}
	f.Close()
	if strings.Contains(logs.String(), planted) || !strings.Contains(logs.String(), "unknown key") {
		t.Errorf("the function logs: %s", logs.String())
	}
}

// BenchmarkInit is how long a binary takes on one core from its start to its first
// request for an invocation, half of the times.
func BenchmarkInit(b *testing.B) {
	folder := functions(b)
	for _, name := range []string{"api", "step", "settle", "stream", "sweep", "deliver"} {
		b.Run(name, func(b *testing.B) {
			f := hosted(b, filepath.Join(folder, name), append(environ("x"), "GOMAXPROCS=1"), nil)
			for b.Loop() {
				// Whatever the function makes of it: it has begun. The sweep would look for
				// its tables, so it is ended.
				_, _ = f.Call(b.Context(), []byte(`{"op":"none"}`), time.Now().Add(time.Second/2))
				f.Kill()
			}
			inits := f.Inits()
			slices.Sort(inits)
			b.ReportMetric(float64(inits[len(inits)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
