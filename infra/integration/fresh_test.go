package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
)

// Case 13: what was sent through one api process is got, listed, watched and canceled
// through another one, which has only just started and shares no memory with the first.
// Both give the same answers.
func TestFreshProcess(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{processes: 4, env: []string{"HOLDFAST_PUBLIC_URL=https://agents.example.com"}})
	f := &fresh{stack: s, function: s.beside(fnAPI, "fresh")}
	f.url = s.door(f.function)
	ctx := t.Context()

	counting, err := send(ctx, s.url, text("counting", "count 3", true))
	if err != nil {
		t.Fatal(err)
	}
	f.restart()
	here, there, err := f.watch(counting.ID)
	if err != nil {
		t.Fatal(err)
	}
	last := there[len(there)-1]
	if last.state != a2a.TaskStateCompleted {
		t.Errorf("the fresh process's stream ends with %s", last.body)
	}
	shared := 0
	for id, body := range here {
		if other, both := byID(there)[id]; both {
			shared++
			if !sameJSON(body, other) {
				t.Errorf("update %d is %s through one and %s through the other", id, body, other)
			}
		}
	}
	if shared < 2 {
		t.Errorf("the two streams had %d updates in common", shared)
	}

	endless, err := send(ctx, s.url, text("endless", "count 1000", true))
	if err != nil {
		t.Fatal(err)
	}
	f.restart()
	canceled, err := call(ctx, http.MethodPost, f.url+"/tasks/"+string(endless.ID)+":cancel", "")
	if err != nil || canceled.status != http.StatusOK {
		t.Fatalf("canceled through the fresh process: %s, %v", canceled, err)
	}
	if got, err := call(ctx, http.MethodGet, s.url+"/tasks/"+string(endless.ID), ""); err != nil || !sameJSON(got.body, canceled.body) {
		t.Errorf("the canceler was told %s, the first process says %s, %v", canceled, got, err)
	}
	s.list(2) // from now on nothing changes
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/tasks/" + string(counting.ID), ""},
		{http.MethodGet, "/tasks/" + string(endless.ID) + "?historyLength=1", ""},
		{http.MethodGet, "/tasks?includeArtifacts=true&historyLength=10", ""},
		{http.MethodGet, "/tasks/" + string(endless.ID) + "/ledger", ""},
		{http.MethodPost, "/message:send", text("counting", "count 3", true)}, // again: the same task
		{http.MethodPost, "/message:send", text("counting", "count 4", true)}, // another request under the key
		{http.MethodPost, "/tasks/" + string(counting.ID) + ":cancel", ""},
		{http.MethodPost, "/tasks/" + string(counting.ID) + ":subscribe", ""},
		{http.MethodGet, "/tasks/" + string(a2a.NewTaskID()), ""},
	} {
		f.restart()
		one, err1 := call(ctx, r.method, s.url+r.path, r.body)
		other, err2 := call(ctx, r.method, f.url+r.path, r.body)
		if err1 != nil || err2 != nil || one.status != other.status || !sameJSON(one.body, other.body) {
			t.Errorf("%s %s: one process says %s, %v, the fresh one %s, %v", r.method, r.path, one, err1, other, err2)
		}
	}
	t.Logf("%d processes started for it, %d updates in common", f.started, shared)
}

// fresh is a second door whose process is never the one of the request before.
type fresh struct {
	*stack
	function *lambdahost.Function
	url      string
	started  int
}

// restart lets the next request meet a process that has just started.
func (f *fresh) restart() {
	f.function.Kill()
	f.started++
}

// watch streams a task through both doors until it ends.
func (f *fresh) watch(id a2a.TaskID) (here map[uint64]json.RawMessage, there []frame, err error) {
	done := make(chan error, 1)
	go func() {
		frames, err := watch(f.Context(), f.stack.url, id)
		here = byID(frames)
		done <- err
	}()
	there, err = watch(f.Context(), f.url, id)
	if failed := <-done; err == nil {
		err = failed
	}
	if err == nil && (len(here) == 0 || len(there) == 0) {
		err = fmt.Errorf("%d updates through one door, %d frames through the other", len(here), len(there))
	}
	return here, there, err
}

// watch subscribes to a task and reads the stream to its end.
func watch(ctx context.Context, agent string, id a2a.TaskID) ([]frame, error) {
	stream, err := open(ctx, agent+"/tasks/"+string(id)+":subscribe", "")
	if err != nil {
		return nil, err
	}
	defer stream.close()
	var frames []frame
	for f, ok := stream.next(); ok; f, ok = stream.next() {
		frames = append(frames, f)
	}
	return frames, stream.err
}

// byID are the updates among frames: a snapshot of the task is as of its own moment.
func byID(frames []frame) map[uint64]json.RawMessage {
	out := map[uint64]json.RawMessage{}
	for _, f := range frames {
		if !f.task {
			out[f.id] = f.body
		}
	}
	return out
}
