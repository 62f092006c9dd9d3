package ledgertest_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// life is a small piece of work over all ports: a blob, an outside call, two
// commits. It is done again from the start after a crash, and stops at the first
// error.
func life(t *testing.T, crash *ledgertest.Crash, memory *ledgertest.Memory, store *ledgertest.MemoryBlobs, task lifecycle.Task, called *int) error {
	process := &ledgertest.Faults{Crash: crash}
	l, blobs := process.Ledger(memory), process.Blobs(store)
	content := []byte("report")
	if err := blobs.Put(t.Context(), task.Ref(), lifecycle.DigestBytes(content), content); err != nil {
		return err
	}
	if err := crash.Point("call, before"); err != nil {
		return err
	}
	*called++
	if err := crash.Point("call, after"); err != nil {
		return err
	}
	for _, op := range []string{"op-1", "op-2"} {
		h, err := l.Head(t.Context(), task.Ref())
		if err != nil {
			return err
		}
		if err := l.Commit(t.Context(), renewal(lifecycle.Task{Head: h}, op)); err != nil {
			return err
		}
	}
	return nil
}

// Every point is enumerated: one run counts, the others die at each call, before
// and after it had its effect.
func TestCrashEveryPoint(t *testing.T) {
	memory, task := created(t)
	called := 0
	counting := &ledgertest.Crash{}
	if err := life(t, counting, memory, ledgertest.NewMemoryBlobs(), task, &called); err != nil {
		t.Fatal(err)
	}
	want := []string{"Put", "call, before", "call, after", "Head", "Commit", "Head", "Commit"}
	if got := counting.Names(); !slices.Equal(got, want) || counting.Calls() != len(want) {
		t.Fatalf("the points are %q, %d, want %q", got, counting.Calls(), want)
	}
	for at := 1; at <= counting.Calls(); at++ {
		for _, after := range []bool{false, true} {
			memory, task := created(t)
			store, called := ledgertest.NewMemoryBlobs(), 0
			crash := &ledgertest.Crash{At: at, After: after}
			if err := life(t, crash, memory, store, task, &called); !errors.Is(err, ledgertest.ErrCrashed) {
				t.Fatalf("point %d: error %v, want ErrCrashed", at, err)
			}
			if got := crash.Names(); !slices.Equal(got, want[:at]) || !crash.Crashed() {
				t.Errorf("point %d: the calls were %q", at, got)
			}
			h, err := memory.Head(t.Context(), task.Ref()) // another process
			if err != nil {
				t.Fatal(err)
			}
			done := at // calls that had their effect
			if !after {
				done--
			}
			wantOp := task.Op
			if done >= 5 {
				wantOp = "op-1"
			}
			if done >= 7 {
				wantOp = "op-2"
			}
			if h.Op != wantOp || called != min(1, max(0, at-2)) {
				t.Errorf("point %d, after %t: the head is of %s (want %s), %d calls", at, after, h.Op, wantOp, called)
			}
			if err := life(t, &ledgertest.Crash{}, memory, store, task, &called); err != nil {
				t.Errorf("point %d: the next process: %v", at, err)
			}
		}
	}
}

// After the crash nothing has an effect, whatever is called.
func TestCrashIsFinal(t *testing.T) {
	memory, task := created(t)
	crash := &ledgertest.Crash{At: 1}
	l := (&ledgertest.Faults{Crash: crash}).Ledger(memory)
	for range 3 {
		if err := l.Commit(t.Context(), renewal(task, "op-dead")); !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatalf("error %v, want ErrCrashed", err)
		}
		if err := crash.Point("a call"); !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatalf("error %v, want ErrCrashed", err)
		}
	}
	h, err := memory.Head(t.Context(), task.Ref())
	if err != nil || h.Op != task.Op || crash.Calls() != 1 {
		t.Errorf("the head is of %s, %d calls (error %v)", h.Op, crash.Calls(), err)
	}
	<-crash.Done()
}

// Who waits in a process that dies does not wait for ever.
func TestCrashEndsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, task := created(t)
		crash := &ledgertest.Crash{At: 2}
		l := (&ledgertest.Faults{Crash: crash}).Ledger(memory)
		watched := make(chan error, 1)
		go func() { watched <- l.Watch(t.Context(), task.Ref(), task.Seq) }()
		synctest.Wait()
		if err := crash.Point("the end"); !errors.Is(err, ledgertest.ErrCrashed) {
			t.Fatalf("error %v, want ErrCrashed", err)
		}
		if err := <-watched; !errors.Is(err, ledgertest.ErrCrashed) {
			t.Errorf("the watch: error %v, want ErrCrashed", err)
		}
	})
}

// Many goroutines of one process: exactly At calls begin, and none of those that
// see the crash sees an answer.
func TestCrashConcurrent(t *testing.T) {
	memory, task := created(t)
	const at = 50
	crash := &ledgertest.Crash{At: at, After: true}
	l := (&ledgertest.Faults{Crash: crash}).Ledger(memory)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				h, err := l.Head(t.Context(), task.Ref())
				if err == nil && h.Task != task.Task || err != nil && !errors.Is(err, ledgertest.ErrCrashed) {
					t.Errorf("answered %s, error %v", h.Task, err)
				}
			}
		})
	}
	all.Wait()
	if crash.Calls() != at {
		t.Errorf("%d calls, want %d", crash.Calls(), at)
	}
}

// A ledger and a blob store of one process share the numbers, two processes do
// not.
func TestCrashShared(t *testing.T) {
	memory, task := created(t)
	crash := &ledgertest.Crash{}
	process := &ledgertest.Faults{Crash: crash}
	_, _ = process.Ledger(memory).Head(t.Context(), task.Ref())
	_, _ = process.Blobs(ledgertest.NewMemoryBlobs()).Get(t.Context(), task.Ref(), "digest")
	_, _ = (&ledgertest.Faults{}).Ledger(memory).Head(t.Context(), task.Ref())
	if got := crash.Names(); !slices.Equal(got, []string{"Head", "Get"}) {
		t.Errorf("the calls are %q", got)
	}
}
