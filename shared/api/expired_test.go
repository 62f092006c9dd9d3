package api_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Retention: what has expired is not there, for whoever asks and however he asks,
// whether it was purged already, is being purged, or neither (case 65).

// purger forgets tasks of the world.
func (w *world) purger() *ledger.Purger {
	return &ledger.Purger{Purges: w.ledger, Blobs: w.blobs, Now: w.clock.Now, KeyNote: lifecycle.DefaultKeyNote}
}

func (w *world) purge(id string) {
	w.t.Helper()
	if _, err := w.purger().Purge(w.t.Context(), w.ref(id)); err != nil {
		w.t.Fatal(err)
	}
}

// beside are the addresses beside A2A that are about a task.
var beside = []string{"/ledger", "/effects", "/export", "/artifacts/report", "/blobs/" + string(lifecycle.DigestBytes(nil))}

// hidden wants a task to be found by none of the operations.
func (w *world) hidden(c client, what, id string) {
	w.t.Helper()
	for operation, params := range map[string]object{
		"GetTask": {"id": id}, "CancelTask": {"id": id}, "SubscribeToTask": {"id": id},
		"SendMessage": {"message": replying(id, "m-9", "hello")}, "SendStreamingMessage": {"message": replying(id, "m-9", "hello")},
	} {
		if a := c.call(operation, params); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
			w.t.Errorf("%s, %s: %d %.200s", what, operation, a.status, a.raw)
		}
	}
	for _, path := range beside {
		if a := c.send(c.raw(w.t.Context(), "GET", "/tasks/"+id+path, "")); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
			w.t.Errorf("%s, %s: %d %.200s", what, path, a.status, a.raw)
		}
	}
	if list := c.ok("ListTasks", object{}); list["totalSize"] != 1.0 || text(list, "tasks.0.id") == id {
		w.t.Errorf("%s: listed %v", what, list)
	}
}

func TestExpiredIsHidden(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant(), chunk("report", "all", false, true), complete())
		lives := c.submit(message("m-2", "do it"))
		at := w.head(id).ExpiresAt
		w.clock.Advance(at.Sub(w.clock.Now()) - time.Microsecond)
		c.ok("GetTask", object{"id": id})
		w.clock.Advance(time.Microsecond)
		w.hidden(c, "at its expiry", id)
		w.clock.Advance(48 * time.Hour)
		w.hidden(c, "two days later, for TTL comes late", id)
		begun, err := w.ledger.BeginPurge(t.Context(), w.ref(id), w.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.hidden(c, "when its purge has begun", id)
		if _, _, err := w.ledger.PurgePiece(t.Context(), w.ref(id)); err != nil {
			t.Fatal(err)
		}
		w.hidden(c, "when most of it is gone", id)
		if err := w.ledger.EndPurge(t.Context(), begun, w.clock.Now()); err != nil {
			t.Fatal(err)
		}
		w.hidden(c, "when it is gone", id)
		c.ok("GetTask", object{"id": lives})
	})
}

// vanishing is a ledger in which a task is purged as soon as its head was read, up to
// some call of the purge.
type vanishing struct {
	*ledgertest.Memory

	mu    sync.Mutex
	purge func(ref lifecycle.Ref)
}

func (v *vanishing) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	h, err := v.Memory.Head(ctx, ref)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil && v.purge != nil {
		v.purge(ref)
		v.purge = nil
	}
	return h, err
}

// A task that is purged between two reads of one request is not found; nothing of that
// is a fault of ours.
func TestPurgedWhileItIsRead(t *testing.T) {
	for _, calls := range []int{2, 3, 4} { // begun, most of it gone, gone
		v := &vanishing{}
		both(t, []func(*world){func(w *world) {
			v.Memory = w.ledger
			w.authority.Ledger = v
		}}, func(w *world, c client) {
			t := w.t
			late := w.purger()
			late.Now = func() time.Time { return w.clock.Now().Add(2 * lifecycle.DefaultRetention) }
			requests := map[string]func(id string) answer{}
			for operation, params := range map[string]func(id string) object{
				"GetTask": func(id string) object { return object{"id": id} }, "CancelTask": func(id string) object { return object{"id": id} },
				"SendMessage": func(id string) object { return object{"message": replying(id, "m-9", "hello")} },
			} {
				requests[operation] = func(id string) answer { return c.call(operation, params(id)) }
			}
			for _, path := range []string{"/ledger", "/artifacts/report"} {
				requests[path] = func(id string) answer { return c.send(c.raw(t.Context(), "GET", "/tasks/"+id+path, "")) }
			}
			for what, ask := range requests {
				id := c.submit(message(a2a.NewMessageID(), "do it"))
				w.must(id, grant())
				for range 150 { // more than a piece
					w.must(id, progress("on it"))
				}
				w.must(id, chunk("report", "all", false, true), complete())
				v.mu.Lock()
				v.purge = func(ref lifecycle.Ref) {
					crash := &ledgertest.Crash{At: calls}
					p := *late
					p.Purges = (&ledgertest.Faults{Crash: crash}).Ledger(w.ledger)
					if _, err := p.Purge(t.Context(), ref); err != nil && !errors.Is(err, ledgertest.ErrCrashed) {
						t.Error(err)
					}
				}
				v.mu.Unlock()
				a := ask(id)
				gone := a.err != nil && (a.err.reason == "TASK_NOT_FOUND" || what == "/artifacts/report" && a.err.reason == "NOT_FOUND")
				// What was read before the purge got to it may be answered.
				gone = gone || what == "SendMessage" && a.err != nil && a.err.reason == "UNSUPPORTED_OPERATION"
				if whole := a.err == nil && calls == 2; !gone && !whole {
					t.Errorf("purged up to call %d, %s: %d %.300s", calls, what, a.status, a.raw)
				}
			}
			if log := w.logged(); log != "" && strings.Contains(log, "request failed") {
				t.Errorf("the log has %s", log)
			}
		})
	}
}
