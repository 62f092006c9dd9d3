package integration_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The api process is killed while a stream is open, again and again: each resumption
// brings exactly what is missing, and the task, which runs elsewhere, does not notice.
func TestStreamOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	const to, cuts = 6, 3
	s := newStack(t, plan{processes: 4})
	ctx := t.Context()
	task, err := send(ctx, s.url, text("count", fmt.Sprintf("count %d", to), true))
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint64
	killed, broken := 0, 0
	for last := uint64(0); ; {
		stream, err := resume(ctx, s.url, task.ID, last)
		if err != nil {
			t.Fatal(err)
		}
		f, ok := stream.next()
		if !ok || !f.task || f.id != 0 {
			t.Fatalf("a resumed stream begins with %s, %v", f.body, stream.err)
		}
		news := 0
		for f, ok = stream.next(); ok; f, ok = stream.next() {
			ids, last = append(ids, f.id), f.id
			if news++; news == 2 && killed < cuts {
				killed += min(1, s.function(fnAPI).Kill())
			}
		}
		stream.close()
		if stream.err == nil {
			break
		}
		broken++
	}
	h, err := verify(ctx, s.auth, refTo(task.ID))
	if err != nil {
		t.Fatal(err)
	}
	want, err := h.visible()
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("the streams brought %v, %v; want %v", ids, err, want)
	}
	if h.State != lifecycle.Completed || h.Generation != 1 {
		t.Errorf("the task is %s in generation %d", h.State, h.Generation)
	}
	if killed != cuts || broken != cuts {
		t.Errorf("killed %d times, and %d streams broke; want %d", killed, broken, cuts)
	}
	t.Logf("%d SIGKILLs of the api process, %d updates over %d streams, each once and ascending", killed, len(ids), broken+1)
}
