package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// frail opens a world whose ports misbehave by plan, while the test itself
// reaches the ledger directly.
func frail(t *testing.T, plan ledgertest.Plan, crash *ledgertest.Crash) *world {
	t.Helper()
	return newWorld(t, func(w *world) {
		process := &ledgertest.Faults{Plan: plan, Crash: crash}
		authority := *w.authority
		authority.Ledger = process.Ledger(w.ledger)
		w.config.Authority, w.config.Blobs = &authority, process.Blobs(w.blobs)
	})
}

// Whichever call of its ports fails, once and before or after it had its effect:
// an operation answers as if nothing had been, or that it is unavailable, and the
// same request again gives the right answer. There is one task in the end.
func TestEveryCallFailsOnce(t *testing.T) {
	large := strings.Repeat("large ", 10_000)
	for name, operation := range map[string]struct {
		method, key string
		params      func(id string) object
		tasks       int
	}{
		"submit":   {"SendMessage", "K", func(string) object { return immediately(message("m-2", large)) }, 2},
		"conflict": {"SendMessage", "S", func(string) object { return immediately(message("m-1", large)) }, 1},
		"reply":    {"SendMessage", "", func(id string) object { return immediately(replying(id, "m-3", large)) }, 1},
		"get":      {"GetTask", "", func(id string) object { return object{"id": id} }, 1},
		"list":     {"ListTasks", "", func(string) object { return object{"includeArtifacts": true} }, 1},
		"cancel":   {"CancelTask", "", func(id string) object { return object{"id": id} }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			// run prepares a paused task and calls the operation, twice if its at-th call of
			// a port failed. first is what the operation begins with.
			run := func(at int, fault ledgertest.Fault) (answers []answer, first, last int) {
				failing, crash := 0, &ledgertest.Crash{}
				w := frail(t, func(call ledgertest.Call) ledgertest.Fault {
					if call.Total == failing {
						return fault
					}
					return ledgertest.None
				}, crash)
				c := w.client(t, false).with("Idempotency-Key", "S")
				id := c.submit(message("m-1", "do it"))
				w.must(id, grant(), chunk("report", "All", false, true), pause(lifecycle.InputRequired, false))
				c = c.with("Idempotency-Key", operation.key)
				first = crash.Calls()
				failing = first + at
				answers = append(answers, c.call(operation.method, operation.params(id)))
				last = crash.Calls()
				if at > 0 {
					answers = append(answers, c.call(operation.method, operation.params(id)))
				}
				if n := w.count(); n != operation.tasks {
					t.Errorf("call %d: %d tasks", at, n)
				}
				return answers, first, last
			}
			want, first, last := run(0, ledgertest.None)
			for _, fault := range []ledgertest.Fault{ledgertest.FailBefore, ledgertest.FailAfter} {
				for at := 1; at <= last-first; at++ {
					got, _, _ := run(at, fault)
					if got[0].status != http.StatusServiceUnavailable || reasonOf(got[0]) != "UNAVAILABLE" {
						same(t, at, got[0], want[0])
					}
					same(t, at, got[1], want[0])
				}
			}
			t.Logf("%d calls failed twice each", last-first)
		})
	}
}

func same(t *testing.T, at int, got, want answer) {
	t.Helper()
	if got.status != want.status || reasonOf(got) != reasonOf(want) {
		t.Errorf("call %d failed: %d %.300s, want %d %.300s", at, got.status, got.raw, want.status, want.raw)
	}
}

func reasonOf(a answer) string {
	if a.err == nil {
		return ""
	}
	return a.err.reason
}

// A stream whose ledger cannot be read ends, and is resumed behind what it sent.
func TestStreamEndsOnFault(t *testing.T) {
	both(t, nil, func(outer *world, c client) {
		t := outer.t
		w := frail(t, ledgertest.On("Entries", ledgertest.FailBefore, 3), nil)
		rpc := c.rpc
		c = w.client(t, rpc)
		id := c.submit(message("m-1", "do it"))
		s := c.open("SubscribeToTask", object{"id": id})
		s.must()
		w.must(id, grant())
		s.must()
		w.must(id, progress("Still there."))
		if rest := s.rest(); len(rest) != 0 {
			t.Errorf("events %v", bodies(rest))
		}
		again := c.with("Last-Event-ID", "2").open("SubscribeToTask", object{"id": id})
		again.must()
		if e := again.must(); e.id != "3" {
			t.Errorf("event %q", e.id)
		}
		again.cut()
		w.server.CloseClientConnections()
		w.server.Close()
		if w.connections[1].Reason != api.ClosedFault || w.connections[1].To != 2 || !strings.Contains(w.logged(), "request failed") {
			t.Errorf("records %+v, log %s", w.connections, w.logged())
		}
	})
}

// counting counts which tasks have blobs.
type counting struct {
	ledger.Blobs
	mu    sync.Mutex
	tasks map[lifecycle.Ref]bool
	ready *sync.WaitGroup
}

func (b *counting) Put(ctx context.Context, ref lifecycle.Ref, d lifecycle.Digest, content []byte) error {
	b.mu.Lock()
	b.tasks[ref] = true
	b.mu.Unlock()
	b.ready.Done()
	b.ready.Wait() // all have looked the key up before anybody takes it
	return b.Blobs.Put(ctx, ref, d, content)
}

func (b *counting) DeleteAll(ctx context.Context, ref lifecycle.Ref) error {
	b.mu.Lock()
	delete(b.tasks, ref)
	b.mu.Unlock()
	return b.Blobs.DeleteAll(ctx, ref)
}

// Those who come second to a key leave no blobs behind.
func TestLosersOfAKeyCleanUp(t *testing.T) {
	const submitters = 4
	blobs := &counting{tasks: map[lifecycle.Ref]bool{}, ready: &sync.WaitGroup{}}
	blobs.ready.Add(submitters)
	w := newWorld(t, func(w *world) {
		blobs.Blobs = w.blobs
		w.config.Blobs = blobs
	})
	c := w.client(t, true).at("keyed")
	found := make([]string, submitters)
	var wg sync.WaitGroup
	for i := range submitters {
		wg.Go(func() {
			found[i] = text(c.call("SendMessage", immediately(message("m-1", strings.Repeat("large ", 10_000)))).result, "task.id")
		})
	}
	wg.Wait()
	if all := slices.Compact(found); len(all) != 1 || all[0] == "" {
		t.Fatalf("tasks %v", all)
	}
	if len(blobs.tasks) != 1 || !blobs.tasks[w.ref(found[0])] {
		t.Errorf("blobs of %v", blobs.tasks)
	}
}

// Each connection is one line of JSON; a line that cannot be written is lost.
func TestConnectionLog(t *testing.T) {
	var b bytes.Buffer
	log := api.NewConnectionLog(&b)
	log.Record(api.Connection{ID: "c", Event: "open", Kind: "SubscribeToTask", Task: "t", From: 3})
	log.Record(api.Connection{ID: "c", Event: "close", Kind: "SubscribeToTask", Task: "t", From: 3, To: 9, Reason: api.ClosedTerminal})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var last api.Connection
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 2 || last.To != 9 || strings.Contains(lines[0], "reason") {
		t.Errorf("%s: %v", b.String(), err)
	}
	api.NewConnectionLog(full{}).Record(last)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
