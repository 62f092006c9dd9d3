package journeys_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 16: a client that goes away after the first event takes nothing with it: the
// task completes, with all that it would have seen, in one lease.
func TestDroppedStreamLeavesTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow(), hello.Agent)
		n := w.process()
		defer w.stop(n)
		s := w.stream(http.MethodPost, "/message:stream", send("drop", "20", ""))
		first := w.first(s)
		s.cut()
		id := taskOf(first)
		done := w.until("", id, time.Minute, in(a2a.TaskStateCompleted))
		if len(done.Artifacts) != 1 || len(done.Artifacts[0].Parts) != 4 || agent.Text(done.Status.Message) != "done" {
			t.Errorf("the task is %+v", done)
		}
		whole := w.verify(id)
		entries, err := w.ledger.Entries(t.Context(), whole.Ref(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var types []lifecycle.EntryType
		for _, e := range entries {
			types = append(types, e.Type)
		}
		one := []lifecycle.EntryType{lifecycle.TypeProgress, lifecycle.TypeChunk}
		want := slices.Concat([]lifecycle.EntryType{lifecycle.TypeSubmitted, lifecycle.TypeStarted}, one, one, one, one, []lifecycle.EntryType{lifecycle.TypeEnded})
		if !slices.Equal(types, want) || whole.Fence != 1 {
			t.Errorf("entries %v under fence %d, want %v in one lease", types, whole.Fence, want)
		}
	})
}

// Case 40: of three watchers one goes away; the other two get the same updates in
// the same order, up to the end.
func TestThreeWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		n := w.process()
		defer w.stop(n)
		var s sent
		w.must(http.MethodPost, "/message:send", send("watched", "count 6", ""), &s)
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
		w.waitState(ref, a2a.TaskStateWorking)
		var seen [3][]frame
		var watchers [3]*subscriber
		for i := range watchers {
			watchers[i] = w.subscribe(ref.Task, 1)
			for range 3 { // the task, and two updates
				seen[i] = append(seen[i], w.first(watchers[i]))
			}
		}
		watchers[1].cut()
		type rest struct {
			i      int
			frames []frame
			err    error
		}
		rests := make(chan rest)
		for _, i := range []int{0, 2} {
			go func() {
				frames, err := watchers[i].rest()
				rests <- rest{i, frames, err}
			}()
		}
		for range 2 {
			r := <-rests
			if r.err != nil {
				t.Fatal(r.err)
			}
			seen[r.i] = append(seen[r.i], r.frames...)
		}
		want := w.visible(ref)[1:] // behind 1
		w.same("the first", seen[0][1:], seen[2][1:], want)
		w.same("the third", seen[2][1:], seen[0][1:], want)
		if got := ids(seen[1]); !slices.Equal(got, want[:2]) {
			t.Errorf("the one that went away got %v", got)
		}
		if last := seen[0][len(seen[0])-1]; last.state() != a2a.TaskStateCompleted {
			t.Errorf("the last update is %s", last.content())
		}
	})
}

// sleeper says something, sleeps for 20 minutes, and completes with an artifact.
func sleeper() *agent.Agent {
	return agent.New("sleeper", 1,
		agent.Step[note]{Name: "lie-down", Run: func(_ context.Context, t *agent.Task[note]) (agent.Next, error) {
			t.Report("Good night.")
			return agent.Sleep(20*time.Minute, "rise"), nil
		}},
		agent.Step[note]{Name: "rise", Run: func(_ context.Context, t *agent.Task[note]) (agent.Next, error) {
			t.Emit(agent.Chunk{Artifact: "dream", Last: true, Part: a2a.NewTextPart("of nothing")})
			return agent.Complete("Good morning."), nil
		}},
	).KeyedByMessageID()
}

// Case 41: through twenty silent minutes a stream has a comment every 15 seconds,
// and ends in an orderly way before the platform would cut it. Who resumes behind
// the last id misses nothing.
func TestQuietStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sleeper())
		n := w.process()
		defer w.stop(n)
		timing := node.DefaultTiming()
		opened := time.Now()
		s := w.stream(http.MethodPost, "/message:stream", send("quiet", "go", ""))
		var got []frame
		quiet, comments := time.Now(), 0
		for {
			f, err := s.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.comment == "" {
				got = append(got, f)
				quiet = f.at
				continue
			}
			comments++
			if silence := f.at.Sub(quiet); silence != timing.KeepAlive || f.comment != "keep-alive" || f.id != 0 {
				t.Errorf("%q after %s of silence, want a comment every %s", f.comment, silence, timing.KeepAlive)
			}
			quiet = f.at
		}
		if lasted := time.Since(opened); lasted != timing.Stream || comments < int(6*time.Minute/timing.KeepAlive) {
			t.Errorf("the stream lasted %s with %d comments, want %s", lasted, comments, timing.Stream)
		}
		last := got[len(got)-1]
		if last.state() != a2a.TaskStateWorking {
			t.Errorf("the last update is %s", last.content())
		}
		more := w.all(w.subscribe(taskOf(last), last.id))
		if more[0].id != 0 {
			t.Errorf("a resumed stream begins with id %d", more[0].id)
		}
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: taskOf(last)}
		if all, want := slices.Concat(ids(got), ids(more)), w.visible(ref); !slices.Equal(all, want) {
			t.Errorf("ids %v, want %v", all, want)
		}
		if difference := fold(append(got, more[1:]...)).equals(w.task("", ref.Task)); difference != "" {
			t.Error(difference)
		}
	})
}

// Case 35: subscribing to a finished task or to an unknown one is answered at once
// and plainly, in both bindings; a finished task is replayed from its ledger.
func TestSubscribeToWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		n := w.process()
		defer w.stop(n)
		var s sent
		w.must(http.MethodPost, "/message:send", strings.Replace(send("m", "Ada", ""), "true", "false", 1), &s)
		for _, c := range []struct {
			task         a2a.TaskID
			status, code string
			http         int
		}{
			{s.Task.ID, `"reason":"UNSUPPORTED_OPERATION"`, `"code":-32004`, http.StatusBadRequest},
			{"none", `"reason":"TASK_NOT_FOUND"`, `"code":-32001`, http.StatusNotFound},
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				_, err := w.try(method, "/tasks/"+string(c.task)+":subscribe", "")
				refused, is := errors.AsType[*errRefused](err)
				if !is || refused.status != c.http || !strings.Contains(string(refused.body), c.status) {
					t.Errorf("%s %s: %v, want %d with %s", method, c.task, err, c.http, c.status)
				}
			}
			body := `{"jsonrpc":"2.0","id":7,"method":"SubscribeToTask","params":{"id":"` + string(c.task) + `"}}`
			_, err := w.try(http.MethodPost, "/rpc", body, "Content-Type", "application/json")
			refused, is := errors.AsType[*errRefused](err)
			if !is || refused.status != http.StatusOK || !strings.Contains(string(refused.body), c.code) || refused.header.Get("Content-Type") != "application/json" {
				t.Errorf("JSON-RPC %s: %v, want a plain answer with %s", c.task, err, c.code)
			}
		}
		var late struct{ Entries []lifecycle.Entry }
		w.must(http.MethodGet, "/tasks/"+string(s.Task.ID)+"/ledger?after=1", "", &late)
		if len(late.Entries) != 2 || late.Entries[0].Seq != 2 || late.Entries[1].Type != lifecycle.TypeEnded {
			t.Errorf("the ledger behind 1 has %+v", late.Entries)
		}
	})
}
