package simulation_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/anishathalye/porcupine"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var (
	histories = flag.Int("histories", 3, "how many histories TestLinearizable records")
	ops       = flag.Int("ops", 40, "how many operations each of its clients makes")
)

// Real in this test: the program with its ledger on disk (or the one of AWS, where
// DYNAMODB_ENDPOINT says so), HTTP, the clock, SIGKILL. Workers outside ask one
// question on each task and complete it once that was answered. What may be asserted:
// that what all clients saw could have happened one after the other (submit, get, answer
// and cancel are linearizable, for each key).
func TestLinearizable(t *testing.T) {
	program := filepath.Join(t.TempDir(), "holdfast")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../local")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	wanted := []string{
		"submit lost", "get lost", "get INPUT_REQUIRED", "get WORKING", "get COMPLETED", "answer WORKING", "answer UNSUPPORTED_OPERATION", "cancel CANCELED",
	}
	tame := func(seen map[string]int) bool {
		return slices.ContainsFunc(wanted, func(what string) bool { return seen[what] == 0 })
	}
	recorded, total, seen := 0, 0, map[string]int{}
	for n := 0; n < *histories || n < 4**histories && tame(seen); n++ {
		recorded++
		h := record(t, program, uint64(n)+1)
		for _, o := range h {
			in, _ := o.Input.(op)
			o, _ := o.Output.(out)
			switch {
			case o.unknown:
				seen[in.what+" lost"]++
			case o.refused != "":
				seen[in.what+" "+o.refused]++
			default:
				seen[in.what+" "+strings.TrimPrefix(string(o.state), "TASK_STATE_")]++
			}
		}
		total += len(h)
		const enough = 30 * time.Second
		switch result, info := porcupine.CheckOperationsVerbose(model(), h, enough); result {
		case porcupine.Illegal:
			path := fmt.Sprintf("../../dist/linearizability-%d.html", n)
			err := errors.Join(os.MkdirAll("../../dist", 0o750), porcupine.VisualizePath(model(), info, path))
			t.Errorf("history %d is not linearizable; see %s (%v)", n, path, err)
		case porcupine.Unknown:
			t.Errorf("history %d could not be checked within %s", n, enough)
		}
	}
	t.Logf("%d histories, %d operations: %s", recorded, total, counted(seen))
	if tame(seen) {
		t.Errorf("the histories have become too tame: want all of %q", wanted)
	}
}

// server is the program, which is killed and started again on one folder.
type server struct {
	t       *testing.T
	program string
	data    string
	addr    string

	mu    sync.Mutex
	cmd   *exec.Cmd
	ready chan struct{} // closed when it serves
}

var servesOn = regexp.MustCompile(`on (http://(127\.0\.0\.1:\d+))`)

func (s *server) start() {
	s.t.Helper()
	cmd := exec.Command(s.program, "serve", "--addr", s.addr, "--data", s.data, "--outside", "asker", "--sweep", "200ms")
	cmd.Stderr = io.Discard
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if found := servesOn.FindStringSubmatch(lines.Text()); found != nil {
			s.mu.Lock()
			s.addr, s.cmd = found[2], cmd
			close(s.ready)
			s.mu.Unlock()
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return
		}
	}
	s.t.Fatalf("the server did not start: %v", cmd.Wait())
}

func (s *server) kill() {
	s.mu.Lock()
	s.ready = make(chan struct{})
	s.mu.Unlock()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// recorder is a history under way.
type recorder struct {
	*server

	http  *http.Client
	begun time.Time
	name  string // tells its keys from those of other histories in one database

	history []porcupine.Operation
	tasks   map[int]a2a.TaskID
}

// keys are what a client is at: a window that moves on.
const keys = 3

// record lets some clients loose on a few keys while the server is killed under them.
func record(t *testing.T, program string, seed uint64) []porcupine.Operation {
	t.Helper()
	r := &recorder{
		server: &server{t: t, program: program, data: t.TempDir(), addr: "127.0.0.1:0", ready: make(chan struct{})},
		http:   &http.Client{Timeout: 10 * time.Second}, begun: time.Now(), name: fmt.Sprintf("%x-%d", time.Now().UnixNano(), seed), tasks: map[int]a2a.TaskID{},
	}
	r.start()
	defer func() { r.kill() }()
	ctx, cancel := context.WithCancel(t.Context())
	var working, calling sync.WaitGroup
	for id := range 3 {
		working.Go(func() { r.work(ctx, id) })
	}
	for id := range 5 {
		calling.Go(func() { r.call(id, diceOf(seed, fmt.Sprint(id))) })
	}
	working.Go(func() {
		dice := diceOf(seed, "kill")
		for range 2 {
			select {
			case <-time.NewTimer(time.Duration(100+dice.IntN(300)) * time.Millisecond).C:
			case <-ctx.Done():
				return
			}
			r.kill()
			r.start()
		}
	})
	calling.Wait()
	cancel()
	working.Wait()
	return r.history
}

// call is a client: it does this and that to this and that key.
func (r *recorder) call(id int, dice *rand.Rand) {
	for n := range *ops {
		window := max(0, n/6-max(0, dice.IntN(6)-3)) // now and then one that is over
		in := op{what: "submit", key: window*keys + dice.IntN(keys)}
		task := r.task(in.key)
		if task != "" {
			in.what = []string{"submit", "get", "get", "get", "answer", "answer", "cancel"}[dice.IntN(7)]
			if in.what == "cancel" && dice.IntN(4) > 0 {
				in.what = "get"
			}
			in.message = fmt.Sprintf("answer-%d-%d", in.key, dice.IntN(3)) // the same one from several clients, too
		}
		called := time.Since(r.begun)
		o := r.do(in, task)
		returned := time.Since(r.begun)
		if o.unknown {
			returned = time.Hour // or later
		}
		r.mu.Lock()
		r.history = append(r.history, porcupine.Operation{ClientId: id, Input: in, Output: o, Call: int64(called), Return: int64(returned)})
		r.mu.Unlock()
		if o.unknown {
			r.serving()
		}
		if n%4 == 0 {
			<-time.NewTimer(time.Duration(dice.IntN(20)) * time.Millisecond).C
		}
	}
}

// serving waits until the server serves again.
func (r *recorder) serving() {
	r.mu.Lock()
	ready := r.ready
	r.mu.Unlock()
	<-ready
}

// any is one of the latest tasks.
func (r *recorder) any(n int) a2a.TaskID {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.tasks) - 1
	return r.tasks[max(0, last-n%(2*keys))]
}

func (r *recorder) task(key int) a2a.TaskID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tasks[key]
}

// do makes one operation.
func (r *recorder) do(in op, task a2a.TaskID) out {
	method, path, body, header := http.MethodPost, "/message:send", "", ""
	switch in.what {
	case "submit":
		header = fmt.Sprintf("key-%s-%d", r.name, in.key)
		body = fmt.Sprintf(`{"message":{"messageId":"m-%s-%d","role":"ROLE_USER","parts":[{"text":"ask"}]},"configuration":{"returnImmediately":true}}`, r.name, in.key)
	case "get":
		method, path = http.MethodGet, "/tasks/"+string(task)
	case "answer":
		body = fmt.Sprintf(`{"message":{"messageId":%q,"taskId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, in.message, task, in.message)
	case "cancel":
		path = "/tasks/" + string(task) + ":cancel"
	}
	status, answer, err := r.send(method, path, body, header)
	if err != nil || status == http.StatusServiceUnavailable {
		return out{unknown: true}
	}
	if status != http.StatusOK {
		reason := reasonOf(answer)
		if reason == "" || status >= http.StatusInternalServerError {
			r.t.Errorf("%s: %d %s", in.what, status, answer)
		}
		return out{refused: reason}
	}
	var got struct {
		shown
		Task *shown `json:"task"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		r.t.Errorf("%s: %s: %v", in.what, answer, err)
	}
	s := got.shown
	if got.Task != nil {
		s = *got.Task
	}
	r.mu.Lock()
	r.tasks[in.key] = s.ID
	r.mu.Unlock()
	return out{task: s.ID, seq: s.own().Sequence, state: s.Status.State}
}

func (r *recorder) send(method, path, body, key string) (int, []byte, error) {
	r.mu.Lock()
	addr := r.addr
	r.mu.Unlock()
	q, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+addr+"/asker"+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("A2A-Version", "1.0")
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		q.Header.Set("Idempotency-Key", key)
	}
	resp, err := r.http.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// work is a worker outside: it claims a task, asks, and completes what was answered.
func (r *recorder) work(ctx context.Context, id int) {
	for n := id; ctx.Err() == nil; n += 5 {
		select {
		case <-time.NewTimer(3 * time.Millisecond).C:
		case <-ctx.Done():
			return
		}
		task := r.any(n)
		if task == "" {
			continue
		}
		t, ok := r.event(task, fmt.Sprintf("w%d-c%d", id, n), 0, 0, map[string]any{"kind": "claim", "leaseSeconds": 1})
		if !ok || t.Work == nil {
			r.serving()
			continue
		}
		next := map[string]any{"kind": "pause", "text": "which?", "state": map[string]int{"page": 1}, "pause": map[string]any{"timeoutSeconds": 3600}}
		if t.Work.State.Page == 1 {
			next = map[string]any{"kind": "complete", "text": "thanks"}
		}
		r.event(task, fmt.Sprintf("w%d-r%d", id, n), t.Fence, t.Work.Last.SourceSequence+1, next)
	}
}

func (r *recorder) event(task a2a.TaskID, id string, fence, seq uint64, payload map[string]any) (told, bool) {
	raw, _ := json.Marshal(payload)
	canonical, err := lifecycle.Canonical(json.RawMessage(raw))
	if err != nil {
		r.t.Error(err)
	}
	event := map[string]any{"eventId": id, "producer": "w", "observedAt": "2026-01-01T00:00:00.000Z", "payloadDigest": lifecycle.DigestBytes(canonical), "payload": payload}
	if fence > 0 {
		event["fence"] = fence
	}
	if seq > 0 {
		event["sourceSequence"] = seq
	}
	body, _ := json.Marshal(event)
	status, answer, err := r.send(http.MethodPost, "/tasks/"+string(task)+"/events", string(body), "")
	var t told
	return t, err == nil && status == http.StatusOK && json.Unmarshal(answer, &t) == nil && t.State != ""
}
