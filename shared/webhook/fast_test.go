package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const (
	fastBudget = 3 * time.Second
	slots      = 8
)

// fast is a process of the stream function.
func (w *world) fast(told *started) *webhook.Fast {
	s := w.sender()
	s.Executions = told
	return &webhook.Fast{Sender: s, Budget: fastBudget, Beside: slots}
}

func hangs(_ int, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A batch returns within its budget, whoever hangs: one endpoint, or more of them than
// there are slots. The healthy ones have their updates at once, unless those that hang have
// all the slots; then they have an execution, as those that hang have, and nobody is tried
// twice.
func TestBatchReturnsInBudget(t *testing.T) {
	for _, hanging := range []int{1, slots - 1, 5 * slots} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			healthy := w.endpoint("healthy", nil)
			changes := []ledger.Change{w.commit("v")}
			var bad []ledger.DueDelivery
			for i := range hanging { // each of a task of its own, as in a batch
				w.ref = w.task()
				bad = append(bad, w.endpoint(fmt.Sprintf("bad-%d", i), hangs))
				changes = append(changes, w.change(1))
			}
			told := &started{}
			start := time.Now()
			if again := w.fast(told).Tell(t.Context(), changes); len(again) > 0 {
				t.Errorf("to come again: %v", again)
			}
			if took := time.Since(start); took > fastBudget {
				t.Errorf("with %d that hang the batch took %v", hanging, took)
			}
			executions := hanging
			if r := w.receiver(healthy).requests(); len(r) == 1 && r[0].at.Equal(start) {
				w.receiver(healthy).wantUpdates(t, 1)
			} else {
				executions++
				if _, there := told.of[executed(healthy, 1, 0).Name()]; !there || hanging < slots || len(r) > 0 {
					t.Errorf("with %d that hang the healthy one has had %+v", hanging, r)
				}
			}
			for _, at := range bad {
				d := w.delivery(at)
				x, there := told.of[executed(at, 1, 0).Name()]
				if n := len(w.receiver(at).requests()); n > 1 || d.Generation != 1 || !there || x.Incarnation != d.Incarnation || d.NextAt.IsZero() || d.Failures != n {
					t.Errorf("%s: %d requests, %+v, %+v", at.ID, n, d, x)
				}
			}
			if len(told.names) != executions {
				t.Errorf("started %q", told.names)
			}
		})
	}
}

// Who is slow gets what is new from an execution, until it is quick again; who is being
// tried again already has one.
func TestSlowLeavesTheFastPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pace := 4 * time.Second
		at := w.endpoint("slow", func(n int, r *http.Request) (*http.Response, error) { return slowly(pace)(n, r) })
		told := &started{}
		fast := w.fast(told)
		fast.Tell(t.Context(), []ledger.Change{w.commit("v")}) // cut short after three seconds
		if a := w.delivery(at).Attempts; len(a) != 1 || a[0].Error != "timeout" || len(told.names) != 1 {
			t.Fatalf("the first: %+v, %q", a, told.names)
		}
		fast.Tell(t.Context(), []ledger.Change{w.commit("v")}) // it is waited for already
		if len(told.names) != 1 || len(w.receiver(at).requests()) != 1 {
			t.Errorf("started %q", told.names)
		}
		pass(5 * time.Second)
		if res, err := fast.Sender.Go(t.Context(), told.last(), budget); err != nil || res.Sent != 2 {
			t.Fatalf("%+v, %v", res, err)
		}
		for i := range 3 {
			before := len(w.receiver(at).requests())
			start := time.Now()
			fast.Tell(t.Context(), []ledger.Change{w.commit("v")})
			if len(told.names) != 2+i || len(w.receiver(at).requests()) != before || time.Since(start) != 0 {
				t.Errorf("slow for the %d. time: started %q after %v", i+1, told.names, time.Since(start))
			}
			if i == 2 {
				pace = time.Second
			}
			if res, err := fast.Sender.Go(t.Context(), told.last(), budget); err != nil || res.Sent != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
		}
		fast.Tell(t.Context(), []ledger.Change{w.commit("F")}) // quick again
		if len(told.names) != 4 {
			t.Errorf("started %q", told.names)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3, 4, 5, 6)
	})
}

// A hint about an entry meets a sender that has looked for updates before there was this
// one: while that one is still at work, or when it has come to rest in the very instant in
// which it is to be told. Either way the update goes out, and not with the next sweep.
func TestHintMeetsASenderAtItsEnd(t *testing.T) {
	for name, rested := range map[string]bool{"at work": false, "just at rest": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", nil)
				w.commit("v")
				entered, rest, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
				other, met := w.sender(), false
				other.Updates = func(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
					updates, err := w.source(ctx, at, e, after, limit)
					if e.Delivery.Holder != "" && !met { // under the lease
						met = true
						close(entered)
						<-rest
					}
					return updates, err
				}
				fast := w.fast(&started{})
				fast.Sender.Endpoints = &between{Endpoints: w.ledger, listed: func() {
					go func() { _, _ = other.Send(t.Context(), at, budget); close(over) }()
					<-entered
					w.commit("F")
				}, wanting: func() {
					if rested {
						close(rest)
						<-over
					}
				}}
				if again := fast.Tell(t.Context(), []ledger.Change{w.change(2)}); len(again) > 0 {
					t.Errorf("%v", again)
				}
				if !rested {
					close(rest)
				}
				<-over
				w.receiver(at).wantUpdates(t, 1, 2)
				if d := w.delivery(at); !d.Idle() || d.Cursor != 2 || !d.DueAt.IsZero() {
					t.Errorf("at the end: %+v", d)
				}
			})
		})
	}
}

// between lets something happen after the endpoints were listed, and before one is told
// that more is wanted; each once.
type between struct {
	ledger.Endpoints

	listed, wanting func()
}

// EndpointList implements ledger.Endpoints.
func (b *between) EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error) {
	list, err := b.Endpoints.EndpointList(ctx, ref)
	if listed := b.listed; listed != nil {
		b.listed = nil
		listed()
	}
	return list, err
}

// Want implements ledger.Endpoints.
func (b *between) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	if wanting := b.wanting; wanting != nil {
		b.wanting = nil
		wanting()
	}
	return b.Endpoints.Want(ctx, ref, id, seq, now)
}

// Whose endpoints cannot be read comes again, and keeps nobody from theirs.
func TestTellComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		good := w.commit("v")
		w.ref = w.task()
		bad := w.change(1)
		fast := w.fast(&started{})
		fast.Sender.Endpoints = &unread{Endpoints: fast.Sender.Endpoints, ref: bad.Ref}
		if again := fast.Tell(t.Context(), []ledger.Change{bad, good}); len(again) != 1 || again[0].Ref != bad.Ref {
			t.Errorf("to come again: %v", again)
		}
		w.receiver(at).wantUpdates(t, 1)
		// Executions that cannot be told are the sweep's.
		down := w.endpoint("down", script(500))
		fast.Sender.Executions = &started{err: errors.New("throttled")}
		if again := fast.Tell(t.Context(), []ledger.Change{w.change(1)}); len(again) != 1 { // of the task that cannot be read
			t.Errorf("%v", again)
		}
		fast.Sender.Endpoints = w.ledger
		if again := fast.Tell(t.Context(), []ledger.Change{w.change(1)}); len(again) != 0 {
			t.Errorf("%v", again)
		}
		if d := w.delivery(down); d.DueAt.IsZero() || d.DueAt.After(time.Now().Add(time.Minute)) {
			t.Errorf("%+v", d)
		}
	})
}

// unread cannot list the endpoints of one task.
type unread struct {
	ledger.Endpoints

	ref lifecycle.Ref
}

// EndpointList implements ledger.Endpoints.
func (u *unread) EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error) {
	if ref == u.ref {
		return nil, ledger.ErrUnavailable
	}
	return u.Endpoints.EndpointList(ctx, ref)
}

// Hundreds of hints for one endpoint, at once and in any order, from several processes:
// every update once, in order, and no execution where nothing fails.
func TestHintsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", slowly(10*time.Millisecond))
		told := &started{}
		done := make(chan struct{})
		var want []uint64
		for i := range 40 {
			c := w.commit("v")
			want = append(want, c.Entry.Seq)
			go func() {
				pass(time.Duration(i%7) * 20 * time.Millisecond)
				w.fast(told).Tell(t.Context(), []ledger.Change{c})
				done <- struct{}{}
			}()
		}
		for range 40 {
			<-done
		}
		w.receiver(at).wantUpdates(t, want...)
		if n := len(w.receiver(at).requests()); n != 40 || len(told.names) > 0 || !slices.IsSorted(want) {
			t.Errorf("%d requests, started %q", n, told.names)
		}
	})
}
