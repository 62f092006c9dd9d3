package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

func TestDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		w.hint(w.sender(), w.commit("vivvi"))
		d := w.delivery(at)
		if d.Cursor != 5 || d.Delivered != 3 || !d.Idle() || !d.DueAt.Equal(time.Now().Add(webhook.CheckEvery)) || d.Revision != 4 {
			t.Errorf("after the first updates: %+v", d) // claimed, two advances, rest
		}
		w.hint(w.sender(), w.commit("vF"))
		w.receiver(at).wantUpdates(t, 1, 3, 4, 6, 7)
		if d := w.delivery(at); d.Cursor != 7 || !d.DueAt.IsZero() || !d.Idle() || len(d.Attempts) != ledger.MaxAttemptsKept {
			t.Errorf("after the task's end: %+v", d)
		}
	})
}

// tallied counts the writes at endpoints.
type tallied struct {
	ledger.Endpoints

	wants, delivers int
}

// Want implements ledger.Endpoints.
func (c *tallied) Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error {
	c.wants++
	return c.Endpoints.Want(ctx, ref, id, seq, now)
}

// Deliver implements ledger.Endpoints.
func (c *tallied) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	c.delivers++
	return c.Endpoints.Deliver(ctx, ref, id, d)
}

// What deliveries cost: two writes for an update that comes by itself, none for an
// entry that callers do not see, and no move in the index of what is due until the end.
func TestWritesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		s := w.sender()
		count := &tallied{Endpoints: s.Endpoints}
		s.Endpoints = count
		due := w.delivery(at).DueAt
		for i, c := range []struct {
			kinds string
			most  int
		}{{"v", 2}, {"i", 0}, {"i", 0}, {"v", 2}, {"vv", 3}, {"i", 0}} {
			before := count.delivers
			w.hint(s, w.commit(c.kinds))
			if n := count.delivers - before; n != c.most {
				t.Errorf("commit %d, %q: %d writes, want %d", i, c.kinds, n, c.most)
			}
			if d := w.delivery(at); !d.DueAt.Equal(due) {
				t.Errorf("commit %d, %q: due at %s, was %s", i, c.kinds, d.DueAt, due)
			}
		}
		w.hint(s, w.commit("F"))
		w.receiver(at).wantUpdates(t, 1, 4, 5, 6, 8)
		if d := w.delivery(at); count.wants != 0 || !d.DueAt.IsZero() || d.Cursor != 8 {
			t.Errorf("%d wants; %+v", count.wants, d)
		}
	})
}

// Many updates: more than a page, with pages that show nothing.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		var want []uint64
		for i := range uint64(150) {
			if i < 10 || i > 90 {
				want = append(want, i+1)
			}
		}
		w.hint(w.sender(), w.commit(strings.Repeat("v", 10)+strings.Repeat("i", 81)+strings.Repeat("v", 59)+"f"))
		w.receiver(at).wantUpdates(t, want...)
		if d := w.delivery(at); d.Cursor != 151 || !d.DueAt.IsZero() || len(d.Attempts) != ledger.MaxAttemptsKept {
			t.Errorf("at the end: cursor %d, due %v, %d attempts", d.Cursor, d.DueAt, len(d.Attempts))
		}
	})
}

// Case 51: 500, 500, 200: the third attempt succeeds, under the same id.
func TestTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(500, 500, 200))
		s := w.sender()
		start := time.Now()
		res := w.hint(s, w.commit("vv"))
		if want := (webhook.Result{Word: webhook.Wait, Seconds: 5, Failed: true, Execution: executed(at, 1, 5)}); len(res) != 1 || res[0] != want {
			t.Fatalf("the first attempt: %+v, want %+v", res, want)
		}
		if d := w.delivery(at); d.Attempt != 1 || !d.NextAt.Equal(start.Add(5*time.Second)) || !d.DueAt.Equal(d.NextAt.Add(grace)) || d.Holder != "" {
			t.Errorf("after the first attempt: %+v", d)
		}
		if now, later, err := s.Hint(t.Context(), w.change(2)); err != nil || len(now)+len(later) != 0 {
			t.Errorf("a hint while it is being tried again: %v, %v, %v", now, later, err)
		}
		if early := w.send(s, at); early.Word != webhook.Wait || len(w.receiver(at).requests()) != 1 {
			t.Errorf("too early: %+v", early)
		}
		if res := w.deliver(s, at); !res.Recovered || res.Sent != 2 {
			t.Errorf("in the end: %+v", res)
		}
		w.receiver(at).wantUpdates(t, 1, 2)
		if d := w.delivery(at); d.Failures != 0 || d.Attempt != 0 {
			t.Errorf("after success: %+v", d)
		}
		var after []time.Duration
		for _, r := range w.receiver(at).requests() {
			after = append(after, r.at.Sub(start))
		}
		if want := []time.Duration{0, 5 * time.Second, 65 * time.Second, 65 * time.Second}; !slices.Equal(after, want) {
			t.Errorf("attempts at %v, want %v", after, want)
		}
		var kept []string
		for _, a := range w.delivery(at).Attempts {
			kept = append(kept, fmt.Sprintf("%d %d %d %s", a.Seq, a.Number, a.Status, a.Error))
		}
		if want := []string{"1 1 500 status", "1 2 500 status", "1 3 200 ", "2 1 200 "}; !slices.Equal(kept, want) {
			t.Errorf("kept attempts %q, want %q", kept, want)
		}
	})
}

// Cases 51, 59: the last rung, given up visibly, and replayed.
func TestGivesUpAndReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		down := true
		at := w.endpoint("one", func(n int, _ *http.Request) (*http.Response, error) {
			if n > 1 && down {
				return status(500), nil
			}
			return status(204), nil
		})
		s := w.sender()
		w.commit("vvF")
		start := time.Now()
		if res := w.deliver(s, at); res.State != ledger.DeliveryGivenUp || res.Sent != 0 {
			t.Errorf("in the end: %+v", res)
		}
		all := time.Duration(0)
		for _, rung := range webhook.Ladder {
			all += rung
		}
		if took := time.Since(start); took != all || len(w.receiver(at).requests()) != 1+len(webhook.Ladder)+1 {
			t.Errorf("given up after %v and %d requests, the ladder is %v", took, len(w.receiver(at).requests()), all)
		}
		d := w.delivery(at)
		if !d.DueAt.IsZero() || !d.NextAt.IsZero() || d.Cursor != 1 || d.Attempt != len(webhook.Ladder)+1 {
			t.Errorf("given up: %+v", d)
		}
		if now, later, err := s.Hint(t.Context(), w.change(3)); err != nil || len(now)+len(later) != 0 {
			t.Errorf("hint for one that was given up: %v, %v, %v", now, later, err)
		}
		down = false
		if err := s.Replay(t.Context(), at, 1); err != nil {
			t.Fatal(err)
		}
		if res := w.deliver(s, at); res.Sent != 2 || res.State != ledger.DeliveryActive {
			t.Errorf("replayed: %+v", res)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3)
	})
}

func TestDownForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		up := time.Now().Add(24 * time.Hour)
		at := w.endpoint("one", func(int, *http.Request) (*http.Response, error) {
			if time.Now().Before(up) {
				return nil, syscall.ECONNREFUSED
			}
			return status(200), nil
		})
		s := w.sender()
		w.hint(s, w.commit("vv"))
		w.hint(s, w.commit("vF"))
		if res := w.deliver(s, at); res.Sent != 4 || !res.Recovered {
			t.Errorf("after a day: %+v", res)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3, 4)
		// The latest attempts are remembered; what came before them is in the log.
		if kept := w.delivery(at).Attempts; len(kept) != ledger.MaxAttemptsKept || kept[0].Seq != 1 || kept[0].Number < 2 || kept[0].Status != 200 || !strings.Contains(w.logs.String(), "refused") {
			t.Errorf("the attempts: %+v, the log: %s", kept, w.logs)
		}
	})
}

func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", func(n int, r *http.Request) (*http.Response, error) {
			if n == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return status(200), nil
		})
		quick := w.endpoint("two", nil)
		s := w.sender()
		due, later, err := s.Hint(t.Context(), w.commit("v"))
		if err != nil || len(due) != 2 || len(later) != 0 {
			t.Fatalf("due: %v and %v, %v", due, later, err)
		}
		start := time.Now()
		var all sync.WaitGroup
		for _, at := range due {
			all.Go(func() { w.send(s, at) })
		}
		all.Wait()
		a := w.delivery(at).Attempts[0]
		if took := time.Since(start); took != webhook.Timeout || a.Error != "timeout" || a.Millis != webhook.Timeout.Milliseconds() {
			t.Errorf("hung for %v: %+v", took, a)
		}
		if r := w.receiver(quick).requests(); len(r) != 1 || !r[0].at.Equal(start) {
			t.Errorf("the other endpoint waited: %+v", r)
		}
		w.deliver(s, at)
		w.receiver(at).wantUpdates(t, 1)
	})
}

// A budget that is spent ends the call, not the delivery: no attempt is cut short by a
// budget with room for a whole one.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		want   webhook.Result
	}{
		{time.Minute, webhook.Result{Word: webhook.Done, Sent: 4}},
		{22 * time.Second, webhook.Result{Word: webhook.Wait, Seconds: 1, Sent: 3}},               // 13 s left
		{webhook.Timeout, webhook.Result{Word: webhook.Wait, Seconds: 1, Sent: 1}},                // the first is always made
		{7 * time.Second, webhook.Result{Word: webhook.Wait, Seconds: 5, Sent: 2, Failed: true}},  // the third had one second
		{6500 * time.Millisecond, webhook.Result{Word: webhook.Wait, Seconds: 1, Sent: 2}},        // it had less
		{time.Millisecond, webhook.Result{Word: webhook.Wait, Seconds: 5, Sent: 0, Failed: true}}, // minBudget is too little
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			at := w.endpoint("one", slowly(3*time.Second))
			s := w.sender()
			w.commit("vvvF")
			if c.want.Word == webhook.Wait { // somebody must be told
				c.want.Execution = executed(at, 1, c.want.Seconds)
				if !c.want.Failed {
					c.want.Execution.Outcome.Seconds = 0
				}
			}
			if res, err := s.Send(t.Context(), at, c.budget); err != nil || res != c.want {
				t.Errorf("budget %v: %+v, %v, want %+v", c.budget, res, err, c.want)
			}
			if d := w.delivery(at); d.Holder != "" || d.Cursor != uint64(c.want.Sent) || (c.want.Word == webhook.Wait) == (d.NextAt.IsZero() || d.DueAt.IsZero()) {
				t.Errorf("budget %v: %+v", c.budget, d)
			}
			w.deliver(s, at)
			w.receiver(at).wantUpdates(t, 1, 2, 3, 4)
		})
	}
}

func TestAnswers(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		code   int
		header []string
		state  ledger.DeliveryState
		wait   time.Duration
		cause  string
	}{
		{"gone", 410, nil, ledger.DeliveryDisabled, 0, "status"},
		{"not found", 404, nil, "", 5 * time.Second, "status"},
		{"a redirect", 302, []string{"Location", "http://169.254.169.254/"}, "", 5 * time.Second, "redirect"},
		{"not modified", 304, nil, "", 5 * time.Second, "redirect"},
		{"too many, in seconds", 429, []string{"Retry-After", "60"}, "", 66 * time.Second, "status"},
		{"too many, soon", 429, []string{"Retry-After", "1"}, "", 2600 * time.Millisecond, "status"}, // half a rung, and a tenth of a second
		{"too many, at once", 429, []string{"Retry-After", "0"}, "", 5 * time.Second, "status"},
		{"too many, in a year", 503, []string{"Retry-After", "31536000"}, "", day, "status"},
		{"unavailable, a date", 503, []string{"Retry-After", "Sat, 01 Jan 2000 01:00:00 GMT"}, "", 66 * time.Minute, "status"}, // a bubble begins at midnight
		{"unavailable, past", 503, []string{"Retry-After", "Fri, 31 Dec 1999 01:00:00 GMT"}, "", 5 * time.Second, "status"},
		{"too many, for ever", 429, []string{"Retry-After", "99999999999999999999999"}, "", day, "status"},
		{"unavailable, at the end of days", 503, []string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, "", day, "status"},
		{"unavailable, with space around", 503, []string{"Retry-After", "  60\t"}, "", 66 * time.Second, "status"},
		{"unavailable, another date", 503, []string{"Retry-After", "Saturday, 01-Jan-00 01:00:00 GMT"}, "", 66 * time.Minute, "status"},
		{"unavailable, a fraction", 503, []string{"Retry-After", "1.5"}, "", 5 * time.Second, "status"},
		{"unavailable, a sign", 503, []string{"Retry-After", "+60"}, "", 5 * time.Second, "status"},
		{"unavailable, a word", 503, []string{"Retry-After", "soon"}, "", 5 * time.Second, "status"},
		{"unavailable, nonsense", 503, []string{"Retry-After", "-5"}, "", 5 * time.Second, "status"},
		{"heeded on two statuses only", 500, []string{"Retry-After", "60"}, "", 5 * time.Second, "status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", func(int, *http.Request) (*http.Response, error) { return status(c.code, c.header...), nil })
				w.hint(w.sender(), w.commit("v"))
				d := w.delivery(at)
				a := d.Attempts[0]
				if a.Status != c.code || a.Error != c.cause || d.State != c.state {
					t.Errorf("%+v", d)
				}
				if wait := time.Until(d.NextAt); c.wait != 0 && wait != c.wait || c.wait == 0 && (!d.NextAt.IsZero() || !d.DueAt.IsZero()) {
					t.Errorf("tried again after %v, want %v", wait, c.wait)
				}
			})
		})
	}
}
