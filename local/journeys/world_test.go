package journeys_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/inprocess"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const base = "http://holdfast"

// world is one ledger and whatever process works on it now.
type world struct {
	t      *testing.T
	ledger ledger.Ledger
	blobs  ledger.Blobs
	agents []*agent.Agent
	node   *node.Node
	client *http.Client
	log    io.Writer
	sweep  time.Duration // 0: the default
	shared bool          // other processes work on the ledger as well
	// receipts verifies authorization receipts; nil takes none.
	receipts api.Receipts
	// policies are the documents; nil: those that every build has.
	policies *policy.Set
	// guard decides which webhooks are called, and ring has the keys that outlive a
	// process; the zero values: public addresses, and none.
	guard webhook.Guard
	ring  *keyring.Ring
	hooks *http.Client // calls webhooks
	// executions is put before those of the next process; nil: nothing is.
	executions func(dispatch.Executions) dispatch.Executions
}

// process starts a node on the world's ledger, as a new process would.
func (w *world) process() *node.Node {
	w.t.Helper()
	n, err := w.tryProcess(w.ledger, w.blobs)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) tryProcess(l ledger.Ledger, b ledger.Blobs) (*node.Node, error) {
	agents, err := catalog.New(w.agents...)
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.DiscardHandler)
	if w.log != nil {
		logger = slog.New(slog.NewTextHandler(w.log, nil))
	}
	timing := node.DefaultTiming()
	timing.Sweep = cmp.Or(w.sweep, timing.Sweep)
	n, err := node.New(node.Config{
		Ledger: l, Blobs: b, Catalog: agents, HoldersGone: !w.shared, Timing: timing,
		Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: logger,
		Receipts: w.receipts, Guard: w.guard, Ring: w.ring, Hooks: w.hooks, Policies: w.policies,
	})
	if err != nil {
		return nil, err
	}
	if w.executions != nil {
		n.Dispatcher.Executions = w.executions(n.Dispatcher.Executions)
	}
	w.node = n
	w.client = &http.Client{Transport: inprocess.Transport(func() http.Handler { return w.node.Handler })}
	return n, n.Start()
}

// stop ends a node as a graceful stop does.
func (w *world) stop(n *node.Node) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		w.t.Error(err)
	}
}

// call is one HTTP+JSON request; into may be nil.
func (w *world) call(method, path, body string, into any, headers ...string) (int, error) {
	r, err := http.NewRequestWithContext(w.t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/a2a+json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err
	}
	if into == nil {
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return resp.StatusCode, fmt.Errorf("%d %s: %w", resp.StatusCode, answer, err)
	}
	return resp.StatusCode, nil
}

// must is call for requests that have to succeed.
func (w *world) must(method, path, body string, into any, headers ...string) {
	w.t.Helper()
	var raw json.RawMessage
	status, err := w.call(method, path, body, &raw, headers...)
	if err != nil || status != http.StatusOK {
		w.t.Fatalf("%s %s: %d %s %v", method, path, status, raw, err)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			w.t.Fatalf("%s %s: %s: %v", method, path, raw, err)
		}
	}
}

// sent is the answer to SendMessage.
type sent struct{ Task a2a.Task }

func (w *world) task(prefix string, id a2a.TaskID) a2a.Task {
	w.t.Helper()
	var t a2a.Task
	w.must(http.MethodGet, prefix+"/tasks/"+string(id), "", &t)
	return t
}

// until polls the task, in the bubble's time, until a condition holds.
func (w *world) until(prefix string, id a2a.TaskID, patience time.Duration, ok func(a2a.Task) bool) a2a.Task {
	w.t.Helper()
	end := time.Now().Add(patience)
	for {
		t := w.task(prefix, id)
		if ok(t) {
			return t
		}
		if time.Now().After(end) {
			w.t.Fatalf("after %s the task is in %s: %+v", patience, t.Status.State, t.Status.Message)
		}
		<-time.NewTimer(time.Second).C
	}
}

func in(states ...a2a.TaskState) func(a2a.Task) bool {
	return func(t a2a.Task) bool {
		return slices.Contains(states, t.Status.State)
	}
}

// verify holds a task's ledger against the invariants that can be seen on it.
func (w *world) verify(id a2a.TaskID) lifecycle.Task {
	w.t.Helper()
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: id}
	entries, err := w.ledger.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	folded, err := lifecycle.Fold(ref, entries)
	if err != nil {
		w.t.Fatalf("I1: %v", err)
	}
	auth := ledger.Authority{Ledger: w.ledger}
	t, err := auth.Load(context.Background(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	if fmt.Sprintf("%+v", folded.Folded()) != fmt.Sprintf("%+v", t.Folded()) && folded.Chain != t.Chain {
		w.t.Errorf("I1: folding gives\n%+v, the head is\n%+v", folded.Folded(), t.Folded())
	}
	for _, b := range lifecycle.Check(t) {
		w.t.Error(b)
	}
	var fence uint64
	for _, e := range entries {
		if e.Fence > 0 && e.Fence < fence {
			w.t.Errorf("I3: entry %d was written under fence %d, an earlier one under %d", e.Seq, e.Fence, fence)
		}
		fence = max(fence, e.Fence)
	}
	return t
}
