package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// These tests run in a bubble of testing/synctest: the time is fake and exact, the
// network is net.Pipe, and a goroutine that outlives its request fails the test.

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	caller, server := net.Pipe()
	p.conns <- server
	return caller, nil
}

// bubble runs a test of both bindings in fake time.
func bubble(t *testing.T, test func(w *world, c client, p *pipes)) {
	t.Helper()
	for _, rpc := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			closing, stop := context.WithCancel(t.Context())
			w := prepare(t, func(w *world) {
				w.config.Now, w.authority.Now, w.config.Closing, w.stop = time.Now, time.Now, closing, stop
			})
			h, err := api.New(w.config)
			if err != nil {
				t.Fatal(err)
			}
			p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
			transport := &http.Transport{DialContext: p.dial, DisableKeepAlives: true}
			server := &http.Server{Handler: h}
			served := make(chan error)
			go func() { served <- server.Serve(p) }()
			test(w, client{t: t, base: "http://pipe", http: &http.Client{Transport: transport}, rpc: rpc, head: http.Header{"A2a-Version": {"1.0"}}}, p)
			stop()
			if err := server.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			<-served
		})
	}
}

// took says how long something takes in fake time.
func took(t *testing.T, want time.Duration, what func()) {
	t.Helper()
	start := time.Now()
	what()
	if got := time.Since(start); got != want {
		t.Errorf("it took %s, want %s", got, want)
	}
}

func TestWaitBudget(t *testing.T) {
	bubble(t, func(w *world, c client, _ *pipes) {
		t := w.t
		var id string
		took(t, api.DefaultWaitBudget, func() {
			id = text(c.ok("SendMessage", object{"message": message("m-1", "do it")}), "task.id")
		})
		w.must(id, grant())
		took(t, api.DefaultCancelWait, func() { c.ok("CancelTask", object{"id": id}) })
	})
}

// Case 41: a quiet stream has a comment every so often, also when there are
// commits that callers do not see; it is cut cleanly before the platform would.
func TestKeepAlive(t *testing.T) {
	bubble(t, func(w *world, c client, _ *pipes) {
		t := w.t
		const tenth = api.DefaultKeepAlive / 10
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		s := c.subscribe(id)
		s.must()
		comment := func() {
			if e := s.must(); e.comment != "keep-alive" {
				t.Errorf("event %+v", e)
			}
		}
		took(t, api.DefaultKeepAlive, comment)
		go func() {
			for range 3 {
				<-time.NewTimer(4 * tenth).C
				if err := w.do(id, checkpoint()); err != nil {
					t.Error(err)
				}
			}
		}()
		took(t, api.DefaultKeepAlive, comment)
		<-time.NewTimer(6 * tenth).C
		w.must(id, progress("Still there."))
		took(t, 0, func() {
			if e := s.must(); e.id != "6" {
				t.Errorf("event %+v", e)
			}
		})
		took(t, api.DefaultKeepAlive, comment) // counted from the last update
		took(t, api.DefaultStreamLimit-36*tenth, func() {
			for _, e := range s.rest() {
				if e.comment != "keep-alive" {
					t.Errorf("event %+v", e)
				}
			}
		})
		synctest.Wait()
		w.last(t, api.Connection{Kind: "SubscribeToTask", To: 6, Reason: api.ClosedLimit})
	})
}

// subscribe opens a stream without a limit of the client's own.
func (c client) subscribe(id string) *stream {
	c.t.Helper()
	return c.openWithin(time.Hour, "SubscribeToTask", object{"id": id})
}

// last holds the last connection record against what is wanted.
func (w *world) last(t *testing.T, want api.Connection) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.connections) == 0 {
		t.Fatal("no connection was recorded")
	}
	got := w.connections[len(w.connections)-1]
	if got.Event != "close" || got.Kind != want.Kind || got.To != want.To || got.Reason != want.Reason {
		t.Errorf("record %+v, want %+v", got, want)
	}
}

// A process that stops ends its streams cleanly and answers those who wait.
func TestStopping(t *testing.T) {
	bubble(t, func(w *world, c client, _ *pipes) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		s := c.subscribe(id)
		s.must()
		waiting := make(chan answer)
		go func() { waiting <- c.call("SendMessage", object{"message": message("m-2", "do it")}) }()
		synctest.Wait()
		took(t, 0, func() {
			w.stop()
			if rest := s.rest(); len(rest) != 0 {
				t.Errorf("events %v", bodies(rest))
			}
			if a := <-waiting; text(a.result, "task.status.state") != "TASK_STATE_SUBMITTED" {
				t.Errorf("%.300s", a.raw)
			}
		})
		synctest.Wait()
		w.last(t, api.Connection{Kind: "SubscribeToTask", To: 1, Reason: api.ClosedStopping})
		if a := c.send(c.raw(t.Context(), http.MethodGet, "/healthz", "")); a.status != http.StatusServiceUnavailable {
			t.Errorf("healthz: %d", a.status)
		}
	})
}

// A caller that goes away is noticed at once, not at the next update.
func TestCallerGone(t *testing.T) {
	bubble(t, func(w *world, c client, _ *pipes) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		s := c.subscribe(id)
		s.must()
		took(t, 0, func() {
			s.cut()
			synctest.Wait()
		})
		w.last(t, api.Connection{Kind: "SubscribeToTask", To: 1, Reason: api.ClosedCaller})
	})
}

// A caller that does not read is given up, and holds nobody else up.
func TestCallerThatDoesNotRead(t *testing.T) {
	bubble(t, func(w *world, c client, p *pipes) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		r := c.request(t.Context(), "SubscribeToTask", object{"id": id})
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		other := c.subscribe(id)
		other.must()
		events := make(chan event, 10)
		go func() {
			defer close(events)
			for e, ok := other.next(); ok; e, ok = other.next() {
				events <- e
			}
		}()
		took(t, 0, func() {
			w.must(id, progress(strings.Repeat("long ", 10_000)))
			if e := <-events; e.id != "3" {
				t.Errorf("event %q", e.id)
			}
		})
		<-time.NewTimer(api.DefaultWriteTimeout).C
		synctest.Wait()
		w.last(t, api.Connection{Kind: "SubscribeToTask", To: 0, Reason: api.ClosedCaller})
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		w.must(id, complete())
		var last event
		for e := range events {
			last = e
		}
		if last.state() != "TASK_STATE_COMPLETED" {
			t.Errorf("the other's last event is %+v", last)
		}
	})
}

// Case 37: an update is on the stream the moment it was committed.
func TestUpdatesComeAtOnce(t *testing.T) {
	bubble(t, func(w *world, c client, _ *pipes) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		s := c.subscribe(id)
		s.must()
		for _, cmd := range []lifecycle.Command{grant(), progress("One."), complete()} {
			took(t, 0, func() {
				w.must(id, cmd)
				s.must()
			})
		}
		if rest := s.rest(); len(rest) != 0 {
			t.Errorf("events %v", bodies(rest))
		}
	})
}
