package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// started are executions that were started, by name.
type started struct {
	mu    sync.Mutex
	of    map[string]webhook.Execution
	names []string
	err   error
}

// Start implements webhook.Executions.
func (s *started) Start(_ context.Context, name string, x webhook.Execution) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]webhook.Execution{}
	}
	if was, again := s.of[name]; again && was != x {
		return fmt.Errorf("the name %s has two inputs, %+v and %+v", name, was, x)
	}
	s.of[name] = x
	s.names = append(s.names, name)
	return s.err
}

// last is the execution that was started last.
func (s *started) last() webhook.Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) == 0 {
		return webhook.Execution{}
	}
	return s.of[s.names[len(s.names)-1]]
}

// A name is one that Step Functions takes, of one generation of one endpoint as it was
// made, and of no other, whatever strangers call theirs.
func TestExecutionNames(t *testing.T) {
	base := webhook.Execution{Tenant: "t", Task: "01a22b55-417b-71d1-96e6-bb164a699ee1", Endpoint: "e", Incarnation: "i", Generation: 1}
	seen := map[string]webhook.Execution{}
	for _, change := range []func(*webhook.Execution){
		func(*webhook.Execution) {},
		func(x *webhook.Execution) { x.Tenant = "u" },
		func(x *webhook.Execution) { x.Endpoint = "e \"i\"" },
		func(x *webhook.Execution) { x.Endpoint = strings.Repeat("é/..\x00", 40) },
		func(x *webhook.Execution) { x.Incarnation = "j" },
		func(x *webhook.Execution) { x.Endpoint, x.Incarnation = "ei", "" },
		func(x *webhook.Execution) { x.Generation = 2 },
		func(x *webhook.Execution) { x.Generation = 1<<64 - 1 },
	} {
		x := base
		change(&x)
		name := x.Name()
		if other, taken := seen[name]; taken || !regexp.MustCompile(`^[0-9A-Za-z_-]{1,80}$`).MatchString(name) {
			t.Errorf("%+v is called %q, and so is %+v", x, name, other)
		}
		x.Outcome = webhook.Outcome{Word: webhook.Wait, Seconds: 9, Turns: 9}
		if x.Name() != name {
			t.Errorf("%+v changes its name on the way", x)
		}
		seen[name] = x
	}
}

// An execution goes on where the first attempt stopped; what was told twice is told once,
// and one that was followed by another ends without a request.
func TestExecutionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(500, 500, 200))
		s := w.sender()
		w.commit("vvF")
		first := w.send(s, at).Execution
		if want := executed(at, 1, 5); first != want {
			t.Fatalf("to be told is %+v, want %+v", first, want)
		}
		pass(5 * time.Second)
		res, err := s.Go(t.Context(), first, budget)
		if want := (webhook.Result{Word: webhook.Wait, Seconds: 60, Failed: true}); err != nil || res != want {
			t.Errorf("the second attempt: %+v, %v", res, err)
		}
		if d := w.delivery(at); d.Generation != 1 || d.Attempt != 2 {
			t.Errorf("%+v", d)
		}
		pass(time.Minute + grace)
		// Somebody believes it dead.
		told := &started{}
		planner := w.sender()
		planner.Executions = told
		if err := planner.Hand(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		second := told.last()
		if want := executed(at, 2, 0); second != want {
			t.Fatalf("handed on as %+v, want %+v", second, want)
		}
		if res, err := s.Go(t.Context(), first, budget); err != nil || res.Word != webhook.Done || len(w.receiver(at).requests()) != 2 {
			t.Errorf("the older one: %+v, %v", res, err)
		}
		if res, err := s.Go(t.Context(), second, budget); err != nil || res.Word != webhook.Done || res.Sent != 3 || !res.Recovered {
			t.Errorf("the newer one: %+v, %v", res, err)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3)
		if d := w.delivery(at); !d.Idle() || !d.DueAt.IsZero() || d.Generation != 2 {
			t.Errorf("at the end: %+v", d)
		}
		if res, err := s.Go(t.Context(), second, budget); err != nil || res.Word != webhook.Done || len(w.receiver(at).requests()) != 5 {
			t.Errorf("called again: %+v, %v", res, err)
		}
	})
}

// Nothing is handed on that somebody is at work on, or whose time has not come, or that
// takes no more; of two who hand on at the same time one does.
func TestHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		told := &started{}
		planner := func() *webhook.Sender { s := w.sender(); s.Executions = told; return s }
		for name, d := range map[string]ledger.Delivery{
			"held": {Holder: "h", LeaseUntil: time.Now().Add(time.Second)}, "too early": {NextAt: time.Now().Add(time.Second), DueAt: time.Now().Add(time.Minute)},
			"just told": {NextAt: time.Now().Add(-time.Second), DueAt: time.Now().Add(time.Second)},
			"given up":  {State: ledger.DeliveryGivenUp}, "disabled": {State: ledger.DeliveryDisabled},
		} {
			at := w.endpoint(strings.ReplaceAll(name, " ", "-"), nil)
			d.Revision, d.Incarnation = 1, "made-"+at.ID
			if err := w.ledger.Deliver(t.Context(), at.Ref, at.ID, d); err != nil {
				t.Fatal(err)
			}
			if err := planner().Hand(t.Context(), at); err != nil || w.delivery(at).Revision != 1 {
				t.Errorf("%s: %+v, %v", name, w.delivery(at), err)
			}
		}
		if err := planner().Hand(t.Context(), ledger.DueDelivery{Ref: w.ref, ID: "none"}); err != nil || len(told.names) != 0 {
			t.Errorf("%q, %v", told.names, err)
		}
		at := w.endpoint("one", nil)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := planner().Hand(t.Context(), at); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d := w.delivery(at)
		if len(told.of) != 1 || told.last().Generation != d.Generation || d.Generation != 1 || !d.NextAt.Equal(time.Now()) || !d.DueAt.Equal(time.Now().Add(grace)) {
			t.Errorf("started %q, %+v", told.names, d)
		}
	})
}

// Whoever kills its sender each time comes to an end as well, which is visible.
func TestAttemptThatKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", func(int, *http.Request) (*http.Response, error) { return nil, errors.New("unreachable") })
		w.commit("vF")
		s := w.sender()
		ctx, die := context.WithCancel(t.Context())
		s.Client.Transport = transport(func(r *http.Request) (*http.Response, error) {
			die() // the process ends with the request on the wire
			return w.RoundTrip(r)
		})
		for n := 1; n <= len(webhook.Ladder)+1; n++ {
			if _, err := s.Send(ctx, at, budget); !errors.Is(err, context.Canceled) {
				t.Fatalf("death %d: %v", n, err)
			}
			pass(webhook.Lease)
			ctx, die = context.WithCancel(t.Context()) //nolint:fatcontext // the next life, not a nested one
		}
		res, err := s.Send(ctx, at, budget)
		if err != nil || res.Word != webhook.Done || res.State != ledger.DeliveryGivenUp || len(w.receiver(at).requests()) != len(webhook.Ladder)+1 {
			t.Errorf("%+v, %v after %d requests", res, err, len(w.receiver(at).requests()))
		}
		d := w.delivery(at)
		if last := d.Attempts[len(d.Attempts)-1]; d.State != ledger.DeliveryGivenUp || !d.DueAt.IsZero() || last.Error != "interrupted" || d.Holder != "" {
			t.Errorf("%+v", d)
		}
		die()
	})
}

func (w *world) handler(s *webhook.Sender) *webhook.Handler {
	return &webhook.Handler{
		Sender: func(context.Context) (*webhook.Sender, error) { return s, nil }, Endpoints: w.ledger, Budget: budget, Logger: w.logger,
	}
}

// turn calls the function as the machine does.
func turn(t *testing.T, h *webhook.Handler, x webhook.Execution) (out webhook.Outcome) {
	t.Helper()
	payload, err := json.Marshal(struct {
		Op string `json:"op"`
		webhook.Execution
	}{"deliver", x})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := h.Handle(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"seconds":`, `"turns":`, `"word":`} { // a path that finds nothing fails the execution
		if !strings.Contains(string(raw), field) {
			t.Errorf("the outcome %s has no %s", raw, field)
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The function counts turns and ends an execution in time, trouble of our own is waited
// for, and nothing of the payload that is not its own is answered.
func TestHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(500, 200))
		w.commit("vF")
		s := w.sender()
		x := w.send(s, at).Execution
		h := w.handler(s)
		pass(time.Second)
		if out, want := turn(t, h, x), (webhook.Outcome{Word: webhook.Wait, Seconds: 4, Turns: 1}); out != want {
			t.Errorf("too early: %+v, want %+v", out, want)
		}
		x.Outcome.Turns = webhook.MaxTurns - 1
		if out, want := turn(t, h, x), (webhook.Outcome{Word: webhook.Done, Turns: webhook.MaxTurns}); out != want {
			t.Errorf("its last turn: %+v, want %+v", out, want)
		}
		if d := w.delivery(at); d.DueAt.IsZero() || d.DueAt.After(d.NextAt.Add(grace)) {
			t.Errorf("nobody begins another: %+v", d)
		}
		x.Outcome.Turns = 7
		h.Sender = func(context.Context) (*webhook.Sender, error) { return nil, errors.New("no keys of " + planted) }
		if out, want := turn(t, h, x), (webhook.Outcome{Word: webhook.Wait, Seconds: 30, Turns: 8}); out != want {
			t.Errorf("without keys: %+v, want %+v", out, want)
		}
		h = w.handler(s)
		pass(4 * time.Second)
		if out, want := turn(t, h, x), (webhook.Outcome{Word: webhook.Done, Turns: 8}); out != want {
			t.Errorf("%+v, want %+v", out, want)
		}
		w.receiver(at).wantUpdates(t, 1, 2)
		for _, payload := range []string{`{}`, `{"op":"run","taskId":"x","endpoint":"e"}`, `{"op":"deliver","taskId":"x"}`, `{"op":"deliver","endpoint":"e"}`, `[` + planted, `{"op":"deliver","generation":"` + planted + `"}`} {
			if out, err := h.Handle(t.Context(), []byte(payload)); err == nil || strings.Contains(err.Error(), planted) {
				t.Errorf("%s: %s, %v", payload, out, err)
			}
		}
	})
}

// An endpoint that was removed and made anew under its ID is another one: a sender that
// works on the first does not write on it, whatever revision it is at.
func TestMadeAnew(t *testing.T) {
	for _, stop := range []int{1, 2} { // before its first write after the lease, and after one
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			var at ledger.DueDelivery
			at = w.endpoint("one", func(n int, _ *http.Request) (*http.Response, error) {
				if n == stop {
					if err := w.ledger.DeleteEndpoint(context.Background(), at.Ref, at.ID); err != nil {
						t.Error(err)
					}
					anew := ledger.Endpoint{ID: at.ID, URL: "https://one.example/anew", Agent: "agent", Base: "https://agent.example", Delivery: ledger.Delivery{Cursor: 7, Wanted: 7, Incarnation: "anew"}}
					if err := w.ledger.PutEndpoint(context.Background(), at.Ref, anew); err != nil {
						t.Error(err)
					}
					for revision := range uint64(stop) { // it comes by the same revision
						if err := w.ledger.Deliver(context.Background(), at.Ref, at.ID, ledger.Delivery{Cursor: 7, Wanted: 7, Incarnation: "anew", Revision: revision + 1}); err != nil {
							t.Error(err)
						}
					}
				}
				return status(200), nil
			})
			w.commit("vvvF")
			s := w.sender()
			res, err := s.Send(t.Context(), at, budget)
			if err != nil || res.Sent != stop || !res.Held || res.Execution != (webhook.Execution{}) {
				t.Errorf("%+v, %v", res, err)
			}
			if d := w.delivery(at); d.Cursor != 7 || d.Incarnation != "anew" || d.Revision != uint64(stop) || len(d.Attempts) != 0 {
				t.Errorf("the new one: %+v", d)
			}
			if n := len(w.receiver(at).requests()); n != stop {
				t.Errorf("%d requests", n)
			}
			// An execution of the first one is done, though it knows the generation.
			old := executed(at, 0, 0)
			if res, err := s.Go(t.Context(), old, budget); err != nil || res.Word != webhook.Done || len(w.receiver(at).requests()) != stop {
				t.Errorf("an execution of the first: %+v, %v", res, err)
			}
		})
	}
}

// A replay gets its own execution, at once, also where one waits for the next rung.
func TestReplayStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", script(500, 500, 200))
		told := &started{}
		s := w.sender()
		s.Executions = told
		w.commit("vvF")
		first := w.send(s, at).Execution
		pass(5 * time.Second)
		if _, err := s.Go(t.Context(), first, budget); err != nil { // a minute to wait now
			t.Fatal(err)
		}
		if err := s.Replay(t.Context(), at, ledger.FromCursor); err != nil {
			t.Fatal(err)
		}
		if x, want := told.last(), executed(at, 2, 0); x != want {
			t.Fatalf("started %+v, want %+v", x, want)
		}
		if res, err := s.Go(t.Context(), told.last(), budget); err != nil || res.Sent != 3 {
			t.Errorf("%+v, %v", res, err)
		}
		pass(time.Minute)
		if res, err := s.Go(t.Context(), first, budget); err != nil || res.Word != webhook.Done {
			t.Errorf("the one that waited: %+v, %v", res, err)
		}
		w.receiver(at).wantUpdates(t, 1, 2, 3)
		// Everything again, under the ids that the receiver knows.
		if err := s.Replay(t.Context(), at, 0); err != nil {
			t.Fatal(err)
		}
		told.err = errors.New("the machine is away")
		if err := s.Replay(t.Context(), at, 1); err != nil { // it is due, and the sweep comes
			t.Fatal(err)
		}
		if res, err := s.Go(t.Context(), told.last(), budget); err != nil || res.Sent != 2 {
			t.Errorf("%+v, %v", res, err)
		}
		ids := map[uint64][]string{}
		for _, r := range w.receiver(at).requests() {
			ids[r.seq] = append(ids[r.seq], r.id)
		}
		for seq, list := range ids {
			if len(slices.Compact(list)) != 1 {
				t.Errorf("update %d came under %q", seq, list)
			}
		}
		if len(ids[2]) != 2 || len(ids[3]) != 2 {
			t.Errorf("requests: %v", ids)
		}
	})
}
