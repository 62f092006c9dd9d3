package integration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 67: the stream function is switched off while three tasks run and complete, and
// the records of that time, older than the mapping keeps trying, never arrive. The tasks
// complete all the same, the sweep has nothing to mend, and nothing was done twice.
func TestStreamFunctionIsOff(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{processes: 4, env: []string{"HOLDFAST_GRACE=1m"}}) // in which everything goes on by itself
	ctx := t.Context()
	s.function(fnStream).Close()
	if _, err := s.function(fnStream).Call(ctx, []byte(`{"Records":[]}`), time.Now().Add(time.Minute)); err == nil {
		t.Fatal("the stream function answers")
	}
	var ids []a2a.TaskID
	for i := range 2 {
		task, err := send(ctx, s.url, text(fmt.Sprintf("count-%d", i), fmt.Sprintf("count %d", i+1), true))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, task.ID)
	}
	reviewed, err := review(t, s.url+reviewer, "unfed")
	if err != nil {
		t.Fatal(err)
	}
	ids = append(ids, reviewed.ID)
	fences := map[a2a.TaskID]uint64{}
	for _, id := range ids {
		s.reaches(refTo(id), lifecycle.Completed)
		h, err := verify(ctx, s.auth, refTo(id))
		if err != nil {
			t.Error(err)
		}
		if h.Generation != 1 {
			t.Errorf("task %s is in generation %d", id, h.Generation)
		}
		fences[id] = h.Fence
	}
	if _, err := s.function(fnSweep).Call(ctx, []byte("{}"), time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	sweeps := s.logs.lines(fnSweep, "sweep")
	for _, l := range sweeps {
		if l.number("expired")+l.number("restarted")+l.number("unknown")+l.number("failed") > 0 {
			t.Errorf("a sweep found %v", l)
		}
	}
	if len(sweeps) == 0 {
		t.Error("no sweep has said what it found")
	}
	for _, id := range ids {
		if h, err := verify(ctx, s.auth, refTo(id)); err != nil || h.Fence != fences[id] {
			t.Errorf("task %s, which had ended under fence %d, is under %d, %v", id, fences[id], h.Fence, err)
		}
	}
	c, err := s.outside.counters()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.once(); err != nil || c.Totals.Repeats != 0 || c.Totals.Fetches != 40 {
		t.Errorf("%d fetches, %d revocations repeated, %v", c.Totals.Fetches, c.Totals.Repeats, err)
	}
	if n := len(s.logs.lines(fnStream, "stream")); n != 0 {
		t.Errorf("the stream function took %d batches", n)
	}
	t.Logf("%d tasks completed without the stream function, %d sweeps found nothing to mend", len(ids), len(sweeps))
}
