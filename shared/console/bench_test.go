package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// benchTasks is how many tasks are in the list.
const benchTasks = 10_000

// BenchmarkTasks asks for the list of 10,000 tasks on the laptop's ledger, a sixth of them
// live: as the page asks for it first, and under each filter.
func BenchmarkTasks(b *testing.B) {
	book, err := sqlite.Open(b.TempDir(), sqlite.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	now := time.Now()
	fillLedger(b, book, now)
	nothing := func(context.Context, lifecycle.Ref, string, uint64) error { return nil }
	made, err := console.New(console.Config{
		Authority: &ledger.Authority{Ledger: book, Now: time.Now, NewID: a2a.NewMessageID}, Callers: people{}, Executions: &world{}, Replay: nothing, Now: time.Now, NewID: a2a.NewMessageID, Grace: grace,
		Agents: []console.Agent{{Name: "desk", Version: 1}, {Name: "desk", Version: 2, Current: true}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{
		"first page": "tasks?limit=100", "state": "tasks?state=failed", "live": "tasks?state=live", "age in state": "tasks?state=live&older=24h", "agent and version": "tasks?agent=desk&version=1",
		"a rare version": "tasks?agent=desk&version=9", "context": "tasks?context=context-7", "stuck": "tasks?stuck=1", "count": "count", "overview": "overview",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://127.0.0.1:8080/console/api/"+path, nil)
				r.Header.Set("Authorization", "Bearer "+tenant+"/night")
				rec := httptest.NewRecorder()
				if made.ServeHTTP(rec, r); rec.Code != http.StatusOK || !json.Valid(rec.Body.Bytes()) {
					b.Fatalf("%d %s", rec.Code, rec.Body)
				}
			}
		})
	}
}

// fillLedger writes tasks of the last four weeks. They come about in the model, and are
// written whole.
func fillLedger(b *testing.B, book ledger.Ledger, now time.Time) {
	b.Helper()
	const writers = 64
	var all sync.WaitGroup
	errs := make(chan error, writers)
	for w := range writers {
		all.Go(func() {
			for i := w; i < benchTasks; i += writers {
				c, err := benchTask(b.Context(), i, now.Add(-28*24*time.Hour/benchTasks*time.Duration(i+1)))
				if err == nil {
					err = book.Create(b.Context(), c)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	if err := <-errs; err != nil {
		b.Fatal(err)
	}
}

func benchTask(ctx context.Context, i int, at time.Time) (c ledger.Creation, err error) {
	model := ledgertest.NewMemory()
	a := &ledger.Authority{Ledger: model, Now: func() time.Time { return at }, NewID: a2a.NewMessageID}
	version := 1 + i%2
	if i%1000 == 0 {
		version = 9
	}
	ref := lifecycle.Ref{Tenant: tenant, Task: a2a.NewTaskID()}
	res, err := a.Create(ctx, ref, lifecycle.Submit{
		ContextID: fmt.Sprintf("context-%d", i%100), Agent: "desk", AgentVersion: version, Step: "begin", Policy: lifecycle.DefaultPolicy(), RequestDigest: lifecycle.DigestBytes(nil), Message: says("do it"),
	}, lifecycle.Source{Producer: "client:1"}, nil)
	do := func(cmd lifecycle.Command) {
		if err == nil {
			res, err = a.Do(ctx, res.Task, cmd, lifecycle.Source{Producer: "runner", Holder: "g1", Fence: res.Task.Fence}, ledger.Extra{})
		}
	}
	if i%12 != 0 { // the others wait for an execution
		do(granted(1))
	}
	if i%6 != 0 { // the others are worked on, or were
		do(lifecycle.Report{Verb: []lifecycle.Verb{lifecycle.VerbComplete, lifecycle.VerbFail}[i%2], Holder: "g1", Fence: 1})
	}
	if err == nil {
		c.Head = res.Task.Head
		c.Entries, err = model.Entries(ctx, ref, 0, 0)
	}
	return c, err
}
