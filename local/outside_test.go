package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The worked example of an outside producer (events/outside/worker.py) against this
// program. Real: the server with its ledger on disk, the worker's process, HTTP
// between them. What may be asserted: what the task came to, and its ledger.

const workerPath = "../events/outside/worker.py"

// lines are the text of the tests' tasks.
const lines = 14

// shop is a server with an agent that is served from outside, and tasks of it.
type shop struct {
	*process
	t      *testing.T
	python string
	data   string
	stop   context.CancelFunc
}

// openShop gives false where there is no Python: then there is nobody to work.
func openShop(t *testing.T) (*shop, bool) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("python3 is not installed: the worked example of an outside producer was not tried")
		return nil, false
	}
	s := &shop{t: t, python: python, data: t.TempDir()}
	s.serve("127.0.0.1:0")
	return s, true
}

func (s *shop) serve(addr string) {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	s.stop = stop
	s.process = launch(ctx, s.t, "serve", "--addr", addr, "--data", s.data, "--outside", "capitals", "--sweep", "200ms", "--grace", "500ms")
	s.t.Cleanup(stop)
}

// restart ends the server and begins it again on the same address and folder.
func (s *shop) restart() {
	s.t.Helper()
	s.stop()
	if err := s.wait(); err != nil {
		s.t.Fatal(err)
	}
	s.serve(strings.TrimPrefix(s.url, "http://"))
}

// submit makes a task of so many lines.
func (s *shop) submit() string {
	s.t.Helper()
	var words strings.Builder
	for i := range lines {
		fmt.Fprintf(&words, "line %d, blåbær & <more>\\n", i+1)
	}
	body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"%s"}]},"configuration":{"returnImmediately":true}}`, a2a.NewMessageID(), words.String())
	status, answer := s.call(http.MethodPost, "/capitals/message:send", body)
	var got struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || got.Task.ID == "" {
		s.t.Fatalf("status %d, %s (%v)", status, answer, err)
	}
	return got.Task.ID
}

// worker starts a worker on a task, at an address.
func (s *shop) worker(at, task string, args ...string) *exec.Cmd {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), s.python, append([]string{workerPath, at + "/capitals", "--task", task}, args...)...)
	c.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	c.Stdout, c.Stderr = s.logs, s.logs
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *shop) finished(c *exec.Cmd) {
	s.t.Helper()
	if err := c.Wait(); err != nil {
		s.t.Fatalf("the worker: %v: %s", err, s.logs)
	}
}

// history is a task's ledger.
type history struct {
	Entries []struct {
		Type      string          `json:"type"`
		Payload   json.RawMessage `json:"payload"`
		Producer  string          `json:"producer"`
		SourceSeq uint64          `json:"sourceSeq"`
		Fence     uint64          `json:"fence"`
	} `json:"entries"`
	Head struct {
		State      string `json:"state"`
		Fence      uint64 `json:"fence"`
		Generation uint64 `json:"generation"`
		Counts     struct {
			Hits, Incidents, Rejections, Quarantined int
		} `json:"counts"`
	} `json:"head"`
}

func (s *shop) history(task string) history {
	s.t.Helper()
	status, answer := s.call(http.MethodGet, "/capitals/tasks/"+task+"/ledger", "")
	var h history
	if err := json.Unmarshal([]byte(answer), &h); err != nil || status != http.StatusOK {
		s.t.Fatalf("status %d, %s (%v)", status, answer, err)
	}
	return h
}

// until waits for a task to have so many chunks.
func (s *shop) until(task string, chunks int) {
	s.t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.history(task).chunks() < chunks {
		select {
		case <-end.C:
			s.t.Fatalf("the task has %d chunks: %s", s.history(task).chunks(), s.logs)
		case <-tick.C:
		}
	}
}

func (h history) chunks() int {
	n := 0
	for _, e := range h.Entries {
		if e.Type == "chunk" {
			n++
		}
	}
	return n
}

// whole wants a task completed with each line once, in order, and the producer's
// count without gap.
func (s *shop) whole(task string) history {
	s.t.Helper()
	status, answer := s.call(http.MethodGet, "/capitals/tasks/"+task, "")
	var got struct {
		Status    struct{ State string }
		Artifacts []struct{ Parts []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK {
		s.t.Fatalf("status %d, %s (%v)", status, answer, err)
	}
	var text, want []string
	for _, p := range got.Artifacts[0].Parts {
		text = append(text, p.Text)
	}
	for i := range lines {
		want = append(want, fmt.Sprintf("LINE %d, BLÅBÆR & <MORE>\n", i+1))
	}
	if got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || !slices.Equal(text, want) {
		s.t.Errorf("the task is %s with %q", got.Status.State, text)
	}
	h := s.history(task)
	var seq uint64
	for _, e := range h.Entries[2:] { // behind submitted and started
		if seq++; e.SourceSeq != seq || e.Producer != "producer:worker" {
			s.t.Errorf("entry %s has sequence %d of %s, want %d", e.Type, e.SourceSeq, e.Producer, seq)
		}
	}
	if h.Head.Generation != 1 || h.Head.Counts.Incidents != 0 || h.Head.Counts.Quarantined != 0 {
		s.t.Errorf("the head is %+v", h.Head)
	}
	return h
}

func TestOutsideWorker(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	task := s.submit()
	s.finished(s.worker(s.url, task))
	if h := s.whole(task); h.Head.Fence != 1 || h.Head.Counts.Hits != 0 || h.Head.Counts.Rejections != 0 {
		t.Errorf("without a fault the head is %+v", h.Head)
	}
	s.finished(s.worker(s.url, task)) // it has ended: nothing to do
}

// The worker is killed in the middle, more than once; each run goes on behind what
// was accepted.
func TestOutsideWorkerKilled(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	task := s.submit()
	for kills := range 3 {
		c := s.worker(s.url, task, "--pause", "0.03")
		s.until(task, 3*(kills+1))
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // killed
	}
	s.finished(s.worker(s.url, task))
	if h := s.whole(task); h.Head.Fence != 4 {
		t.Errorf("fence %d, want one for each run", h.Head.Fence)
	}
}

// The server is ended in the middle and comes back: the worker has its lease still.
func TestOutsideServerRestarted(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	task := s.submit()
	c := s.worker(s.url, task, "--pause", "0.03")
	s.until(task, 3)
	s.restart()
	s.finished(c)
	if h := s.whole(task); h.Head.Fence != 1 {
		t.Errorf("fence %d: the restart took the worker's lease", h.Head.Fence)
	}
}

// The network fails in every way that a worker sees: refused before, cut after,
// answered with garbage, unavailable.
func TestOutsideNetworkFails(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	network := &network{}
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	network.inner = httputil.NewSingleHostReverseProxy(target)
	between := httptest.NewServer(network)
	defer between.Close()
	task := s.submit()
	s.finished(s.worker(between.URL, task))
	h := s.whole(task)
	if h.Head.Fence != 1 || h.Head.Counts.Hits == 0 || h.Head.Counts.Rejections != 0 {
		t.Errorf("the head is %+v, want answers that were lost and asked for again", h.Head)
	}
	t.Logf("%d requests, %d answered from a receipt", network.calls.Load(), h.Head.Counts.Hits)
}

// network lets one in five requests through as it is.
type network struct {
	inner http.Handler
	calls atomic.Int64
}

// ServeHTTP implements http.Handler.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch n.calls.Add(1) % 5 {
	case 1:
		panic(http.ErrAbortHandler)
	case 2:
		n.inner.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 3:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 4:
		n.inner.ServeHTTP(httptest.NewRecorder(), r)
		_, _ = w.Write([]byte(`{"fence": `))
	default:
		n.inner.ServeHTTP(w, r)
	}
}

// Two processes of one producer take the lease from one another and do the work
// once between them; a worker of another name waits its turn.
func TestOutsideWorkersTogether(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	task := s.submit()
	var all sync.WaitGroup
	for range 2 {
		c := s.worker(s.url, task, "--pause", "0.01")
		all.Go(func() {
			if err := c.Wait(); err != nil {
				t.Errorf("a worker: %v: %s", err, s.logs)
			}
		})
	}
	all.Wait()
	s.whole(task)
}

// A cancellation is met by the worker with its next event.
func TestOutsideCanceled(t *testing.T) {
	s, there := openShop(t)
	if !there {
		return
	}
	task := s.submit()
	c := s.worker(s.url, task, "--pause", "0.05")
	s.until(task, 2)
	status, answer := s.call(http.MethodPost, "/capitals/tasks/"+task+":cancel", "")
	if status != http.StatusOK || !strings.Contains(answer, "TASK_STATE_CANCELED") {
		t.Errorf("status %d, %s", status, answer)
	}
	s.finished(c)
	if h := s.history(task); h.Head.State != "TASK_STATE_CANCELED" || h.Head.Counts.Quarantined != 0 {
		t.Errorf("the head is %+v", h.Head)
	}
}
