package ledgertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A process without a plan and without a crash changes nothing: the suite passes
// through it.
func TestFaultsWithoutPlan(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Ledger { return new(ledgertest.Faults).Ledger(ledgertest.NewMemory()) })
	ledgertest.RunBlobs(t, func(*testing.T) ledger.Blobs { return new(ledgertest.Faults).Blobs(ledgertest.NewMemoryBlobs()) })
}

// created is a ledger with one task.
func created(t *testing.T) (*ledgertest.Memory, lifecycle.Task) {
	t.Helper()
	memory, clock := ledgertest.NewMemory(), ledgertest.NewClock()
	a := &ledger.Authority{Ledger: memory, Now: clock.Now, NewID: a2a.NewMessageID}
	cmd := lifecycle.Submit{
		ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Policy: lifecycle.DefaultPolicy(),
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do it")),
	}
	res, err := a.Create(t.Context(), lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}, cmd, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return memory, res.Task
}

// renewal is a commit that changes the head's due time.
func renewal(t lifecycle.Task, op string) ledger.Commit {
	c := ledger.Commit{Seen: t.Head, Head: t.Head}
	c.Head.DueAt, c.Head.Op = c.Head.DueAt.Add(time.Second), op
	return c
}

func TestFaults(t *testing.T) {
	conflict := func(err error) bool { _, is := errors.AsType[*ledger.Conflict](err); return is }
	unavailable := func(err error) bool { return errors.Is(err, ledger.ErrUnavailable) }
	fine := func(err error) bool { return err == nil }
	for name, c := range map[string]struct {
		fault   ledgertest.Fault
		answers func(error) bool
		written bool
	}{
		"none":       {ledgertest.None, fine, true},
		"before":     {ledgertest.FailBefore, unavailable, false},
		"after":      {ledgertest.FailAfter, unavailable, true},
		"conflicted": {ledgertest.Conflicted, conflict, false},
		"retried":    {ledgertest.Retried, fine, true}, // the guard does not tell renewals apart
		"doubled":    {ledgertest.Doubled, fine, true},
		"delayed":    {ledgertest.Delayed, fine, true},
		"stale":      {ledgertest.Stale, fine, true}, // only the index can be
	} {
		t.Run(name, func(t *testing.T) {
			memory, task := created(t)
			delayed := 0
			faults := &ledgertest.Faults{
				Plan:  ledgertest.On("Commit", c.fault, 2),
				Delay: func(context.Context, ledgertest.Call) error { delayed++; return nil },
			}
			l := faults.Ledger(memory)
			for i, op := range []string{"op-1", "op-2"} {
				err := l.Commit(t.Context(), renewal(task, op))
				if (i == 0 && err != nil) || (i == 1 && !c.answers(err)) {
					t.Fatalf("commit %d: error %v", i+1, err)
				}
			}
			h, err := memory.Head(t.Context(), task.Ref())
			if err != nil {
				t.Fatal(err)
			}
			if written := h.Op == "op-2"; written != c.written {
				t.Errorf("written: %t, want %t", written, c.written)
			}
			if want := c.fault == ledgertest.Delayed; (delayed == 1) != want {
				t.Errorf("delayed %d times", delayed)
			}
		})
	}
}

// Doubled gives the first answer, Retried the second.
func TestFaultsTwice(t *testing.T) {
	for fault, wantFirst := range map[ledgertest.Fault]bool{ledgertest.Doubled: true, ledgertest.Retried: false} {
		memory, task := created(t)
		l := (&ledgertest.Faults{Plan: ledgertest.Always("Settle", fault)}).Ledger(memory)
		err := l.Settle(t.Context(), task.Ref(), lifecycle.Effect{Visit: 1, Name: "pay", Revision: 1})
		if wantFirst != (err == nil) || !wantFirst && !errors.Is(err, ledger.ErrEffectChanged) {
			t.Errorf("fault %d: error %v", fault, err)
		}
	}
}

// A stale index gives what it gave before; the first time, nothing.
func TestFaultsStale(t *testing.T) {
	memory, task := created(t)
	stale := ledgertest.Plans(ledgertest.On("List", ledgertest.Stale, 1, 3), ledgertest.On("Count", ledgertest.Stale, 1, 3), ledgertest.On("Due", ledgertest.Stale, 1, 3))
	l := (&ledgertest.Faults{Plan: stale}).Ledger(memory)
	for i, want := range []int{0, 1, 1, 2} {
		page, err := l.List(t.Context(), ledger.ListQuery{Tenant: "tenant", Limit: 10})
		if err != nil || len(page.Heads) != want {
			t.Errorf("list %d has %d tasks (error %v), want %d", i+1, len(page.Heads), err, want)
		}
		n, err := l.Count(t.Context(), ledger.ListQuery{Tenant: "tenant"})
		if err != nil || n.Tasks != want {
			t.Errorf("count %d is %d (error %v), want %d", i+1, n.Tasks, err, want)
		}
		due, err := l.Due(t.Context(), task.DueAt.Add(time.Hour), nil, 10)
		if err != nil || len(due.Heads) != want {
			t.Errorf("due %d has %d tasks (error %v), want %d", i+1, len(due.Heads), err, want)
		}
		if i == 1 {
			another := task
			another.Task = a2a.NewTaskID()
			if err := memory.Create(t.Context(), ledger.Creation{Head: another.Head, Entries: []lifecycle.Entry{{Task: another.Task, Seq: another.Seq}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Endpoints fail like everything else: a delivery is refused though nothing has
// changed, an answer is lost, and what is due may be stale.
func TestFaultsOfEndpoints(t *testing.T) {
	memory, task := created(t)
	ref, at := task.Ref(), task.AcceptedAt
	l := (&ledgertest.Faults{Plan: ledgertest.Plans(
		ledgertest.On("PutEndpoint", ledgertest.FailAfter, 1), ledgertest.On("Want", ledgertest.FailBefore, 1), ledgertest.On("Deliver", ledgertest.Conflicted, 1),
		ledgertest.On("Deliver", ledgertest.Retried, 3), ledgertest.On("DueDeliveries", ledgertest.Stale, 2), ledgertest.On("DeleteEndpoint", ledgertest.Doubled, 1),
	)}).Ledger(memory)
	next := func(revision uint64) ledger.Delivery { return ledger.Delivery{Revision: revision, DueAt: at} }
	for i, c := range []struct{ err, want error }{
		{l.PutEndpoint(t.Context(), ref, ledger.Endpoint{ID: "one", URL: "https://example.com"}), ledger.ErrUnavailable},
		{l.Want(t.Context(), ref, "one", 1, at), ledger.ErrUnavailable},
		{l.Deliver(t.Context(), ref, "one", next(1)), ledger.ErrDeliveryChanged},
		{l.Deliver(t.Context(), ref, "one", next(1)), nil},
		{l.Deliver(t.Context(), ref, "one", next(2)), ledger.ErrDeliveryChanged}, // its own success
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("call %d: error %v, want %v", i+1, c.err, c.want)
		}
	}
	e, err := l.Endpoint(t.Context(), ref, "one")
	if err != nil || e.Delivery.Revision != 2 || e.Delivery.Wanted != 0 {
		t.Errorf("the endpoint is %+v (%v)", e, err)
	}
	for i, want := range []int{1, 1, 0} {
		page, err := l.DueDeliveries(t.Context(), at, nil, 10)
		if err != nil || len(page.Due) != want {
			t.Errorf("due %d has %d endpoints (%v), want %d", i+1, len(page.Due), err, want)
		}
		if err := l.DeleteEndpoint(t.Context(), ref, "one"); err != nil {
			t.Errorf("removing it: %v", err)
		}
	}
	if all, err := l.EndpointList(t.Context(), ref); err != nil || len(all) != 0 {
		t.Errorf("%d endpoints are left (%v)", len(all), err)
	}
}

// One seed and one order of calls give the same faults, another seed others.
func TestSeeded(t *testing.T) {
	faults := func(seed uint64) string {
		plan := ledgertest.Seeded(seed, 30, ledgertest.FailBefore, ledgertest.FailAfter)
		var out strings.Builder
		for i := range 100 {
			fmt.Fprint(&out, plan(ledgertest.Call{Method: "Commit", Number: i, Total: i}))
		}
		return out.String()
	}
	if one, again := faults(1), faults(1); one != again || one == faults(2) {
		t.Errorf("seeds 1, 1, 2 give\n%s\n%s\n%s", faults(1), faults(1), faults(2))
	}
}

// A delay ends with the caller's context, in fake time.
func TestFaultsDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, task := created(t)
		faults := &ledgertest.Faults{Plan: ledgertest.Always("Head", ledgertest.Delayed), Delay: func(ctx context.Context, _ ledgertest.Call) error {
			timer := time.NewTimer(time.Minute)
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		began := time.Now()
		if _, err := faults.Ledger(memory).Head(t.Context(), task.Ref()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("after %s: error %v", time.Since(began), err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := faults.Ledger(memory).Head(ctx, task.Ref()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}
