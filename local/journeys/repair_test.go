package journeys_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// soon is within what time the sweep has repaired a task whose execution was told
// nothing, or is no more.
const soon = lifecycle.DefaultGrace + time.Minute

// TestSweepRepairs breaks each thing that the sweep is the net for, once, on the SQLite
// ledger: go test ./local/journeys -run TestSweepRepairs -v lists them. The same on
// DynamoDB is in infra/integration. (Cases 29, 65 and 67.)
func TestSweepRepairs(t *testing.T) {
	for name, test := range map[string]func(*world){
		"start lost": repairsStart, "resume lost": repairsResume, "callback token lost": repairsToken,
		"stream off": repairsDelivery, "execution aborted by hand": repairsExecution, "purge killed": repairsPurge,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				book, err := sqlite.Open(dir, sqlite.Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = book.Close() }()
				blobs, err := sqlite.OpenBlobs(dir, sqlite.Options{NoSync: true})
				if err != nil {
					t.Fatal(err)
				}
				test(&world{t: t, ledger: book, blobs: blobs})
			})
		})
	}
}

// lossy loses the first so many starts and resumes, and says that all is well.
type lossy struct {
	dispatch.Executions
	starts, resumes atomic.Int32
}

// Start implements dispatch.Executions.
func (l *lossy) Start(ctx context.Context, name string, in dispatch.Input) error {
	if l.starts.Add(-1) >= 0 {
		return nil
	}
	return l.Executions.Start(ctx, name, in)
}

// Resume implements dispatch.Executions.
func (l *lossy) Resume(ctx context.Context, token string) error {
	if l.resumes.Add(-1) >= 0 {
		return nil
	}
	return l.Executions.Resume(ctx, token)
}

// loses puts a lossy before the executions of the next process.
func (w *world) loses(starts, resumes int32) {
	w.executions = func(inner dispatch.Executions) dispatch.Executions {
		l := &lossy{Executions: inner}
		l.starts.Store(starts)
		l.resumes.Store(resumes)
		return l
	}
}

// repaired wants a task to complete soon, by its second execution.
func (w *world) repaired(id a2a.TaskID) lifecycle.Task {
	w.t.Helper()
	w.until("", id, soon, in(a2a.TaskStateCompleted))
	done := w.verify(id)
	if done.Generation != 2 {
		w.t.Errorf("the task completed in generation %d, want 2", done.Generation)
	}
	return done
}

func repairsStart(w *world) {
	w.agents = []*agent.Agent{hello.Agent}
	w.loses(1, 0)
	defer w.stop(w.process())
	w.repaired(w.submitOnly("m"))
}

// told answers what an asker has asked, and counts how often it told somebody.
func (w *world) told(n *int) {
	w.t.Helper()
	p := w.paused("m")
	w.must(http.MethodPost, "/message:send", reply("r", "Oslo", p.ID), nil)
	w.repaired(p.ID)
	if *n != 1 {
		w.t.Errorf("told %d times", *n)
	}
}

func repairsResume(w *world) {
	n := 0
	w.agents = []*agent.Agent{asker(func(string) { n++ })}
	w.loses(0, 1)
	defer w.stop(w.process())
	w.told(&n)
}

// forgetful loses callback tokens, and says that it has stored them.
type forgetful struct{ ledger.Ledger }

// Park implements ledger.Ledger.
func (forgetful) Park(_ context.Context, _ lifecycle.Ref, _ int, token ledger.Token) (ledger.Parked, error) {
	return ledger.Parked{Token: token}, nil
}

func repairsToken(w *world) {
	n := 0
	w.agents = []*agent.Agent{asker(func(string) { n++ })}
	p, err := w.tryProcess(forgetful{w.ledger}, w.blobs)
	if err != nil {
		w.t.Fatal(err)
	}
	defer w.stop(p)
	w.told(&n)
}

// There is no stream in one process: a process knows its own commits. Here another one
// ends the task, and nobody tells this one.
func repairsDelivery(w *world) {
	box := &inbox{}
	w.hooks = &http.Client{Transport: box}
	w.agents = []*agent.Agent{asker(func(string) { w.t.Error("somebody was told") })}
	defer w.stop(w.process())
	var s sent
	w.must(http.MethodPost, "/message:send", hooked("m", "go"), &s)
	w.until("", s.Task.ID, time.Minute, in(a2a.TaskStateInputRequired))
	synctest.Wait() // the pause is seen before it is delivered
	other := &ledger.Authority{Ledger: w.ledger, Now: time.Now, NewID: a2a.NewMessageID}
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
	t, err := other.Load(w.t.Context(), ref)
	if err == nil {
		_, err = other.Do(w.t.Context(), t, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if state, _, _ := box.last(w.t); state != string(a2a.TaskStateInputRequired) {
		w.t.Errorf("without the sweep %s was delivered", state)
	}
	pass(6 * time.Minute) // endpoints are looked at each five
	if state, seq, _ := box.last(w.t); state != string(a2a.TaskStateCanceled) || seq != float64(w.verify(ref.Task).Seq) {
		w.t.Errorf("the last word that was delivered is %s at %v", state, seq)
	}
}

// What is aborted leaves no word, whoever it was: a process that ends drops its
// executions so, and one that shares its ledger takes nothing over when it begins.
func repairsExecution(w *world) {
	w.shared = true
	w.agents = []*agent.Agent{hello.Agent}
	first := w.process()
	var s sent
	w.must(http.MethodPost, "/message:send", send("m", "count 5", ""), &s)
	pass(1500 * time.Millisecond) // it sleeps
	w.stop(first)
	defer w.stop(w.process())
	done := w.repaired(s.Task.ID)
	if got := agent.Text(w.task("", done.Task).Status.Message); got != "Counted to 5." {
		w.t.Errorf("the task says %q", got)
	}
}

// mortal is the ledger of a process that is killed in its first purge, when some of the
// task is gone.
type mortal struct {
	ledger.Ledger
	pieces atomic.Int32
}

var errKilled = errors.New("the process was killed")

// PurgePiece implements ledger.Purges.
func (m *mortal) PurgePiece(ctx context.Context, ref lifecycle.Ref) (int, bool, error) {
	if m.pieces.Add(1) > 1 {
		return 0, true, errKilled
	}
	return m.Ledger.PurgePiece(ctx, ref)
}

// EndPurge implements ledger.Purges.
func (*mortal) EndPurge(context.Context, ledger.Purge, time.Time) error { return errKilled }

func repairsPurge(w *world) {
	w.sweep = 2 * time.Hour
	w.agents = []*agent.Agent{hello.Agent}
	dying := &mortal{Ledger: w.ledger}
	first, err := w.tryProcess(dying, w.blobs)
	if err != nil {
		w.t.Fatal(err)
	}
	counts := send("m", "count 80", "") // more entries than a piece has
	var s sent
	w.must(http.MethodPost, "/message:send", counts, &s)
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: s.Task.ID}
	done := w.until("", ref.Task, 5*time.Minute, in(a2a.TaskStateCompleted))
	content := []byte("large")
	if err := w.blobs.Put(w.t.Context(), ref, lifecycle.DigestBytes(content), content); err != nil {
		w.t.Fatal(err)
	}
	gone := func(what string) {
		w.t.Helper()
		if status, err := w.call(http.MethodGet, "/tasks/"+string(done.ID), "", nil); status != http.StatusNotFound || err != nil {
			w.t.Errorf("%s the task is answered %d %v, want 404", what, status, err)
		}
		var refused struct{ Error struct{ Message string } }
		if status, err := w.call(http.MethodPost, "/message:send", counts, &refused); status != http.StatusConflict || err != nil || !strings.Contains(refused.Error.Message, "can be read no more") {
			w.t.Errorf("%s the same submission is answered %d %q %v, want 409", what, status, refused.Error.Message, err)
		}
	}
	unfinished := func() int {
		w.t.Helper()
		page, err := w.ledger.Expired(w.t.Context(), time.Now(), nil, 10)
		if err != nil {
			w.t.Fatal(err)
		}
		return len(page.Refs)
	}
	pass(lifecycle.DefaultRetention - 10*time.Minute)
	if got := w.task("", ref.Task); got.Status.State != a2a.TaskStateCompleted {
		w.t.Errorf("before its expiry it is %s", got.Status.State)
	}
	pass(10 * time.Minute)
	gone("when it has expired")
	pass(25 * time.Hour) // tasks are forgotten each dozen sweeps
	gone("when its purge was killed")
	if dying.pieces.Load() < 2 || unfinished() != 1 {
		w.t.Fatalf("%d pieces were asked for, %d purges are unfinished", dying.pieces.Load(), unfinished())
	}
	w.stop(first)
	defer w.stop(w.process())
	pass(25 * time.Hour)
	gone("after the purge")
	if n := unfinished(); n > 0 {
		w.t.Errorf("%d purges are unfinished", n)
	}
	if _, err := w.blobs.Get(w.t.Context(), ref, lifecycle.DigestBytes(content)); !errors.Is(err, ledger.ErrNotFound) {
		w.t.Errorf("the blob: %v", err)
	}
	pass(lifecycle.DefaultKeyNote)
	var again sent
	if w.must(http.MethodPost, "/message:send", counts, &again); again.Task.ID == done.ID || again.Task.ID == "" {
		w.t.Errorf("when the key is forgotten: %+v", again)
	}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }
