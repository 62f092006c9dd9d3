package ledgertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Whoever gives the turns decides the order of two calls, and knows what they are
// about. A call that has its turn after the process died is not made.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, task := created(t)
		turns := map[string]chan struct{}{"Head": make(chan struct{}), "Commit": make(chan struct{})}
		var order []ledgertest.Call
		crash := &ledgertest.Crash{}
		l := (&ledgertest.Faults{Crash: crash, Turn: func(_ context.Context, c ledgertest.Call) ledgertest.Fault {
			<-turns[c.Method]
			order = append(order, c)
			return ledgertest.None
		}}).Ledger(memory)
		var seen lifecycle.Head
		var dead error
		go func() {
			seen, _ = l.Head(t.Context(), task.Ref())
			_, dead = l.Head(t.Context(), task.Ref())
		}()
		go func() { _ = l.Commit(t.Context(), renewal(task, "op-1")) }()
		synctest.Wait()
		if len(order) != 0 || crash.Calls() != 0 {
			t.Fatalf("%d calls were made before their turn", len(order))
		}
		turns["Commit"] <- struct{}{}
		synctest.Wait()
		turns["Head"] <- struct{}{}
		synctest.Wait()
		if seen.Op != "op-1" || len(order) != 2 || order[0].Method != "Commit" || order[0].Ref != task.Ref() {
			t.Errorf("the head is of %q after %+v; want the commit first", seen.Op, order)
		}
		crash.Kill()
		turns["Head"] <- struct{}{}
		synctest.Wait()
		if !errors.Is(dead, ledgertest.ErrCrashed) || crash.Calls() != 2 {
			t.Errorf("error %v, %d calls; want ErrCrashed, and no third one", dead, crash.Calls())
		}
	})
}

// What is late is done when nobody counts on it any more, also when its process has
// died; an echo is done twice; the last call of a process is done.
func TestLater(t *testing.T) {
	at := func(l ledger.Ledger, task lifecycle.Task) string {
		h, err := l.Head(context.Background(), task.Ref())
		if err != nil {
			t.Fatal(err)
		}
		return h.Op
	}
	for name, c := range map[string]struct {
		fault  ledgertest.Fault
		answer error
		now    string // the head's operation after the answer, and
		later  int    // what is still to be done
	}{
		"late":   {ledgertest.Late, ledger.ErrUnavailable, "", 1},
		"echoed": {ledgertest.Echoed, nil, "op-1", 1},
		"last":   {ledgertest.Last, ledgertest.ErrCrashed, "op-1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			memory, task := created(t)
			var later []func()
			crash := &ledgertest.Crash{}
			l := (&ledgertest.Faults{Crash: crash, Plan: ledgertest.On("Commit", c.fault, 1), Later: func(_ ledgertest.Call, do func()) {
				later = append(later, do)
			}}).Ledger(memory)
			ctx, stop := context.WithCancel(t.Context())
			if err := l.Commit(ctx, renewal(task, "op-1")); !errors.Is(err, c.answer) || c.answer == nil && err != nil {
				t.Errorf("error %v, want %v", err, c.answer)
			}
			stop()
			if c.now == "" {
				c.now = task.Op
			}
			if got := at(memory, task); got != c.now || len(later) != c.later {
				t.Fatalf("the head is of %q, want %q; %d calls are put off, want %d", got, c.now, len(later), c.later)
			}
			crash.Kill()
			for _, do := range later {
				do()
			}
			if got := at(memory, task); got != "op-1" {
				t.Errorf("in the end the head is of %q", got)
			}
		})
	}
}
