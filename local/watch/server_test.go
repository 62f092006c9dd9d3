// The tests of this package follow tasks of a scripted server over real HTTP
// connections. The clock and the waits are the test's: nothing is slept.

package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// server is a door with one task, "t", of the agent "clerk".
type server struct {
	t *testing.T

	mu      sync.Mutex
	history []a2a.StreamResponse // what callers see, ascending
	opened  []uint64             // behind which sequence each stream was opened
	// serve plays a connection's part; without it the stream is served in full.
	serve func(s *stream)
	http  *httptest.Server
}

// stream is one connection of the script.
type stream struct {
	server *server
	number int // from 1
	after  uint64
	w      http.ResponseWriter
	r      *http.Request
}

func start(t *testing.T, serve func(*stream)) *server {
	t.Helper()
	s := &server{t: t, serve: serve}
	s.http = httptest.NewServer(s)
	t.Cleanup(func() { s.http.Close() })
	return s
}

// restart serves on the same address again.
func (s *server) restart() {
	listener, err := net.Listen("tcp", s.http.Listener.Addr().String())
	if err != nil {
		s.t.Errorf("restart: %v", err)
		return
	}
	again := httptest.NewUnstartedServer(s)
	again.Listener = listener
	again.Start()
	s.http = again
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get(versionHeader); got != "1.0" {
		s.t.Errorf("A2A-Version is %q", got)
	}
	if r.URL.Path == "/clerk/tasks/t" {
		w.Header().Set("Content-Type", "application/a2a+json")
		_ = json.NewEncoder(w).Encode(s.task())
		return
	}
	if r.URL.Path != "/clerk/tasks/t:subscribe" {
		refuse(w, http.StatusNotFound, "TASK_NOT_FOUND", "there is no such task")
		return
	}
	after, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		s.t.Errorf("Last-Event-ID: %v", err)
	}
	s.mu.Lock()
	s.opened = append(s.opened, after)
	one := &stream{server: s, number: len(s.opened), after: after, w: w, r: r}
	s.mu.Unlock()
	if s.serve != nil {
		s.serve(one)
		return
	}
	one.all()
}

func refuse(w http.ResponseWriter, status int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	quoted, _ := json.Marshal(message)
	_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"status":"X","message":%s,"details":[{"@type":"other"},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":%q}]}}`, status, quoted, reason)
}

// happen adds a status update.
func (s *server) happen(seq uint64, state a2a.TaskState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ev := &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: state}, Metadata: metadata(seq, false)}
	s.history = append(s.history, a2a.StreamResponse{Event: ev})
}

// grow adds an artifact update.
func (s *server) grow(seq uint64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ev := &a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Append: true, Metadata: metadata(seq, false),
		Artifact: &a2a.Artifact{ID: "report", Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
	s.history = append(s.history, a2a.StreamResponse{Event: ev})
}

func metadata(seq uint64, replay bool) map[string]any {
	own := map[string]any{"sequence": seq}
	if replay {
		own["replay"] = true
	}
	return map[string]any{extensionURI: own}
}

// task is what has happened so far.
func (s *server) task() *a2a.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}, Metadata: metadata(0, false)}
	for _, response := range s.history {
		t.Metadata = metadata(ownMetadata(response.Event).Sequence, false)
		if ev, ok := response.Event.(*a2a.TaskStatusUpdateEvent); ok {
			t.Status = ev.Status
		}
	}
	if t.Status.State == a2a.TaskStateInputRequired {
		t.Metadata[extensionURI].(map[string]any)["pause"] = 3
	}
	return t
}

// missing is what the caller has not seen, at most limit of it.
func (s *stream) missing(limit int) []a2a.StreamResponse {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	all := slices.Clone(s.server.history)
	all = slices.DeleteFunc(all, func(r a2a.StreamResponse) bool { return ownMetadata(r.Event).Sequence <= s.after })
	return all[:min(limit, len(all))]
}

// snapshot is the first frame: the task, without an id.
func (s *stream) snapshot() {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.write("data: " + encode(s.server.t, a2a.StreamResponse{Event: s.server.task()}) + "\n\n")
}

// frame is one update with its id.
func (s *stream) frame(r a2a.StreamResponse) string {
	return fmt.Sprintf("id: %d\ndata: %s\n\n", ownMetadata(r.Event).Sequence, encode(s.server.t, r))
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Errorf("encoding: %v", err)
	}
	return string(text)
}

func (s *stream) write(text string) {
	_, _ = s.w.Write([]byte(text))
	s.w.(http.Flusher).Flush()
}

// some sends the snapshot and at most limit of the missing updates.
func (s *stream) some(limit int) {
	s.snapshot()
	for _, r := range s.missing(limit) {
		s.write(s.frame(r))
	}
}

func (s *stream) all() { s.some(1000) }

// cut breaks the connection.
func (s *stream) cut() { panic(http.ErrAbortHandler) }

// viewer is a client with a clock of its own, and what it saw.
type viewer struct {
	Client
	seen   []string
	delays []time.Duration
	now    time.Time
	// asleep is called with the number of each wait.
	asleep func(number int)
}

func (s *server) viewer() *viewer {
	v := &viewer{now: time.Date(2026, 9, 30, 12, 0, 0, 0, time.UTC), asleep: func(int) {}}
	v.Client = Client{
		BaseURL: s.http.URL + "/", Agent: "clerk", Patience: time.Minute,
		HTTP: &http.Client{Transport: &http.Transport{}},
		Now:  func() time.Time { return v.now },
		Rand: func() float64 { return 0 },
		Sleep: func(ctx context.Context, d time.Duration) error {
			v.now = v.now.Add(d)
			v.delays = append(v.delays, d)
			v.asleep(len(v.delays))
			return ctx.Err()
		},
	}
	s.t.Cleanup(v.HTTP.CloseIdleConnections)
	return v
}

func (v *viewer) follow(t *testing.T) error {
	t.Helper()
	return v.Follow(t.Context(), "t", 0, func(u Update) error {
		what := StateName(u.State())
		switch u.Event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			what = "artifact"
		case *a2a.Task:
			what = "task " + what
		}
		v.seen = append(v.seen, fmt.Sprintf("%d %s", u.Seq, what))
		return nil
	})
}

func (v *viewer) wantSeen(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(v.seen, want) {
		t.Errorf("seen:\n%s\nwant:\n%s", strings.Join(v.seen, "\n"), strings.Join(want, "\n"))
	}
}
