package watch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	working   = a2a.TaskStateWorking
	paused    = a2a.TaskStateInputRequired
	completed = a2a.TaskStateCompleted
)

// whole is a task from submission to its end; callers do not see 3, 4 and 6.
func whole(t *testing.T, serve func(*stream)) *server {
	t.Helper()
	s := start(t, serve)
	s.happen(1, a2a.TaskStateSubmitted)
	s.happen(2, working)
	s.happen(5, working)
	s.grow(7, "abc")
	s.happen(8, completed)
	return s
}

var wholeSeen = []string{"1 submitted", "2 working", "5 working", "7 artifact", "8 completed"}

func TestFollowToTheEnd(t *testing.T) {
	s := whole(t, nil)
	v := s.viewer()
	if err := v.follow(t); err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, wholeSeen...)
	if len(s.opened) != 1 || len(v.delays) != 0 {
		t.Errorf("opened %v, waited %v", s.opened, v.delays)
	}
}

func TestFollowBehindSequence(t *testing.T) {
	s := whole(t, nil)
	v := s.viewer()
	var seen []uint64
	if err := v.Follow(t.Context(), "t", 5, func(u Update) error { seen = append(seen, u.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []uint64{7, 8}) {
		t.Errorf("seen %v", seen)
	}
}

// Every connection brings one update and is cut: every id is seen once, and as long
// as there is progress nothing is waited for.
func TestFollowCutAfterEveryFrame(t *testing.T) {
	for name, cut := range map[string]func(*stream){
		"cleanly": func(s *stream) { s.some(1) },
		"broken":  func(s *stream) { s.some(1); s.cut() },
		"in the next frame": func(s *stream) {
			s.some(1)
			for _, r := range s.missing(2)[1:] {
				s.write(s.frame(r)[:20])
			}
			s.cut()
		},
		"before the next frame's last byte": func(s *stream) {
			s.some(1)
			for _, r := range s.missing(2)[1:] {
				s.write(strings.TrimSuffix(s.frame(r), "\n"))
			}
		},
		"and the old ones are sent again": func(s *stream) { more := *s; more.after = 0; more.some(s.number) },
	} {
		t.Run(name, func(t *testing.T) {
			s := whole(t, cut)
			v := s.viewer()
			if err := v.follow(t); err != nil {
				t.Fatal(err)
			}
			v.wantSeen(t, wholeSeen...)
			if want := []uint64{0, 1, 2, 5, 7}; !slices.Equal(s.opened, want) {
				t.Errorf("opened behind %v, want %v", s.opened, want)
			}
			if len(v.delays) != 0 {
				t.Errorf("waited %v", v.delays)
			}
		})
	}
}

// The server is gone for some attempts and comes back on the same address.
func TestFollowRestart(t *testing.T) {
	s := whole(t, nil)
	s.serve = func(one *stream) {
		if one.number == 1 {
			one.some(3)
			one.cut()
		}
		one.all()
	}
	v := s.viewer()
	first := s.http
	v.asleep = func(number int) {
		if number == 3 {
			s.restart()
		}
	}
	var refused int
	v.Retrying = func(error, time.Duration) { refused++ }
	err := v.Follow(t.Context(), "t", 0, func(u Update) error {
		v.seen = append(v.seen, StateName(u.State()))
		if u.Seq == 5 {
			first.Listener.Close()
			first.CloseClientConnections()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, "submitted", "working", "working", "", "completed")
	if len(v.delays) != 3 || refused != 3 {
		t.Errorf("waited %v, told %d times", v.delays, refused)
	}
}

func TestFollowLosesPatience(t *testing.T) {
	s := start(t, nil)
	s.http.Close()
	v := s.viewer()
	began := v.now
	err := v.follow(t)
	if err == nil || !strings.Contains(err.Error(), "no answer for 1m0s") {
		t.Fatalf("got %v", err)
	}
	if took := v.now.Sub(began); took < v.Patience || took > v.Patience+maxDelay {
		t.Errorf("tried for %s", took)
	}
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, maxDelay, maxDelay}
	if !slices.Equal(v.delays[:len(want)], want) {
		t.Errorf("waited %v", v.delays)
	}
}

// A task waits for its reply for longer than the client's patience with a server
// that is gone: it is asked for now and then, also over a restart.
func TestFollowThroughPause(t *testing.T) {
	s := start(t, nil)
	s.happen(1, working)
	s.happen(2, paused)
	v := s.viewer()
	v.asleep = func(number int) {
		switch number {
		case 20:
			s.http.Close()
		case 23:
			s.restart()
		case 100:
			s.happen(3, working)
			s.happen(4, completed)
		}
	}
	var told int
	v.Retrying = func(error, time.Duration) { told++ }
	if err := v.follow(t); err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, "1 working", "2 input-required", "3 working", "4 completed")
	if len(v.delays) != 100 || slices.Max(v.delays) > 5*time.Second {
		t.Errorf("waited %d times, at most %s", len(v.delays), slices.Max(v.delays))
	}
	if told != 3 {
		t.Errorf("told %d times of trouble", told)
	}
}

// The task ended while no stream was open: A2A refuses the subscription.
func TestFollowEndedMeanwhile(t *testing.T) {
	s := whole(t, func(s *stream) {
		if s.number == 1 {
			s.some(2)
			s.cut()
		}
		refuse(s.w, http.StatusBadRequest, "UNSUPPORTED_OPERATION", "the task has ended")
	})
	v := s.viewer()
	if err := v.follow(t); err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, "1 submitted", "2 working", "8 task completed")
}

// A server that serves a finished task's stream has nothing behind its end.
func TestFollowBehindTheEnd(t *testing.T) {
	s := whole(t, nil)
	v := s.viewer()
	var raw string
	if err := v.Follow(t.Context(), "t", 8, func(u Update) error { raw = string(u.Raw); return nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(raw, `{"task":{`) || strings.Contains(raw, "\n") {
		t.Errorf("saw %s", raw)
	}
}

func TestFollowRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*stream)
		final  bool
		want   string
	}{
		"unknown task":      {func(s *stream) { refuse(s.w, 404, "TASK_NOT_FOUND", "no \x1b[2Jsuch task") }, true, "404: no  [2Jsuch task"},
		"not supported":     {func(s *stream) { refuse(s.w, 400, "UNSUPPORTED_OPERATION", "no streams") }, true, "400: no streams"},
		"without a body":    {func(s *stream) { s.w.WriteHeader(401) }, true, "401 Unauthorized"},
		"another status":    {func(s *stream) { s.w.WriteHeader(405) }, true, "405 Method Not Allowed"},
		"no stream":         {func(s *stream) { s.w.Header().Set("Content-Type", "text/html"); s.write("<html>") }, true, `"text/html"`},
		"no task":           {func(s *stream) { s.snapshot(); s.write("id: 3\ndata: {}\n\n") }, true, "not A2A 1.0"},
		"no JSON":           {func(s *stream) { s.snapshot(); s.write("id: 3\ndata: {\n\n") }, true, "not A2A 1.0"},
		"no number":         {func(s *stream) { s.snapshot(); s.write(strings.Replace(s.frame(s.missing(1)[0]), "1", "x", 1)) }, true, "no sequence"},
		"starting":          {func(s *stream) { s.w.WriteHeader(503) }, false, "503"},
		"too many":          {func(s *stream) { s.w.WriteHeader(429) }, false, "429"},
		"gateway's timeout": {func(s *stream) { s.w.WriteHeader(504) }, false, "504"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.answer)
			s.happen(1, working)
			v := s.viewer()
			err := v.follow(t)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if (len(v.delays) == 0) != c.final {
				t.Errorf("tried again %d times", len(v.delays))
			}
		})
	}
}

// A stream that falls silent, half-open perhaps, is given up and opened again.
func TestFollowSilence(t *testing.T) {
	s := whole(t, func(s *stream) {
		if s.number == 1 {
			s.some(2)
			<-s.r.Context().Done()
			return
		}
		if s.number == 2 { // not even a header
			<-s.r.Context().Done()
			return
		}
		s.all()
	})
	v := s.viewer()
	v.Silence = 20 * time.Millisecond
	var why []error
	v.Retrying = func(err error, _ time.Duration) { why = append(why, err) }
	if err := v.follow(t); err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, wholeSeen...)
	if len(why) != 1 || !errors.Is(why[0], errSilent) {
		t.Errorf("waited because of %v", why)
	}
}

// Bytes that trickle in are no silence.
func TestFollowSlowly(t *testing.T) {
	s := whole(t, func(s *stream) {
		s.snapshot()
		for _, r := range s.missing(100) {
			for _, b := range ": still here\n\n" + s.frame(r) {
				s.write(string(b))
			}
		}
	})
	v := s.viewer()
	if err := v.follow(t); err != nil {
		t.Fatal(err)
	}
	v.wantSeen(t, wholeSeen...)
}

func TestFollowStops(t *testing.T) {
	open := func(s *stream) { s.some(2); <-s.r.Context().Done() }
	t.Run("with the context, on an open stream", func(t *testing.T) {
		s := whole(t, open)
		ctx, cancel := context.WithCancel(t.Context())
		err := s.viewer().Follow(ctx, "t", 0, func(u Update) error {
			if u.Seq == 2 {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with the context, while it waits", func(t *testing.T) {
		s := start(t, nil)
		s.http.Close()
		v := s.viewer()
		v.Sleep = nil // the real one
		ctx, cancel := context.WithCancel(t.Context())
		v.Retrying = func(error, time.Duration) { cancel() }
		if err := v.Follow(ctx, "t", 0, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with the error of its caller", func(t *testing.T) {
		s := whole(t, open)
		full := errors.New("the disk is full")
		if err := s.viewer().Follow(t.Context(), "t", 0, func(Update) error { return full }); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("without a task or an address", func(t *testing.T) {
		for _, c := range []Client{{BaseURL: "http://127.0.0.1:1"}, {BaseURL: "127.0.0.1:8080"}} {
			id := a2a.TaskID("")
			if c.BaseURL[0] != 'h' {
				id = "t"
			}
			if err := c.Follow(t.Context(), id, 0, nil); !errors.Is(err, errRequest) {
				t.Errorf("%s: got %v", c.BaseURL, err)
			}
		}
	})
}

func TestTask(t *testing.T) {
	s := start(t, nil)
	s.happen(4, paused)
	got, err := s.viewer().Task(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.State != paused || Pause(got) != 3 {
		t.Errorf("state %s, pause %d", got.Status.State, Pause(got))
	}
	_, err = s.viewer().Task(t.Context(), "other")
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Status != 404 || r.Reason != "TASK_NOT_FOUND" {
		t.Errorf("got %v", err)
	}
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer odd.Close()
	if _, err := (Client{BaseURL: odd.URL}).Task(t.Context(), "t"); !errors.Is(err, errForeign) {
		t.Errorf("got %v", err)
	}
}

func TestBackoff(t *testing.T) {
	for rests := range 100 {
		longest, shortest := backoff(rests, 0), backoff(rests, 1)
		if longest > maxDelay || shortest < longest/2 || shortest < firstDelay/2 {
			t.Errorf("rest %d: %s to %s", rests, shortest, longest)
		}
	}
	if backoff(99, 0) != maxDelay {
		t.Errorf("the last delay is %s", backoff(99, 0))
	}
}
