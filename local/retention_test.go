package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/ncruces/go-sqlite3"
)

// retained is a data folder with tasks of one conversation, whose clock the test moves.
type retained struct {
	*testing.T
	dir   string
	book  *sqlite.Ledger
	blobs *sqlite.Blobs
	clock *ledgertest.Clock
	auth  *ledger.Authority
}

func newRetained(t *testing.T) *retained {
	t.Helper()
	r := &retained{T: t, dir: t.TempDir(), clock: ledgertest.NewClock()}
	var err error
	if r.book, err = sqlite.Open(r.dir, sqlite.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.book.Close() })
	if r.blobs, err = sqlite.OpenBlobs(r.dir, sqlite.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	r.auth = &ledger.Authority{Ledger: r.book, Now: r.clock.Now, NewID: a2a.NewMessageID}
	return r
}

// life makes a task. Every tenth has something of everything: a key, a webhook, a sealed
// artifact, an effect, a pause that was answered, a rejection and a blob. The others have
// a key. It ends, or it goes on.
func (r *retained) life(i int, completes bool) (lifecycle.Ref, error) {
	ctx := r.Context()
	ref := lifecycle.Ref{Tenant: fmt.Sprintf("tenant-%d", i%2), Task: a2a.NewTaskID()}
	name := []byte(ref.Task)
	says := func(role a2a.MessageRole) *a2a.Message { return a2a.NewMessage(role, a2a.NewTextPart(string(name))) }
	var hooks []ledger.Endpoint
	if i%10 == 0 {
		hooks = []ledger.Endpoint{{ID: "hook", URL: "https://hook.example", Agent: "agent", Delivery: ledger.Delivery{DueAt: r.clock.Now().Add(time.Hour)}}}
	}
	var failed error
	task := lifecycle.Task{Head: lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}}
	take := func(res ledger.Result, err error) {
		if task = res.Task; failed == nil {
			failed = err
		}
	}
	do := func(cmd lifecycle.Command) {
		if rep, is := cmd.(lifecycle.Report); is {
			rep.Holder, rep.Fence, rep.Grace = task.Holder, task.Fence, time.Minute
			cmd = rep
		}
		if failed == nil {
			src := lifecycle.Source{Producer: "somebody", EventID: a2a.NewMessageID(), Holder: task.Holder, Fence: task.Fence}
			take(r.auth.Do(ctx, task, cmd, src, ledger.Extra{Receipt: &ledger.Receipt{Producer: src.Producer, EventID: src.EventID, Digest: lifecycle.DigestBytes(nil)}}))
		}
	}
	take(r.auth.Create(ctx, ref, lifecycle.Submit{
		ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Message: says(a2a.MessageRoleUser), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, &ledger.Key{Tenant: ref.Tenant, Hash: lifecycle.DigestBytes(name)}, hooks...))
	if i%10 > 0 {
		if completes {
			do(lifecycle.RequestCancel{})
		}
		return ref, failed
	}
	do(lifecycle.Grant{Holder: "holder", Generation: 1, Lease: time.Hour, Grace: time.Minute})
	do(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "second", Message: says(a2a.MessageRoleAgent), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired}})
	_, err := r.book.Park(ctx, ref, 1, ledger.Token{Value: "token", Generation: 1, EnteredAt: r.clock.Now()})
	do(lifecycle.Reply{Message: says(a2a.MessageRoleUser)})
	do(lifecycle.Grant{Holder: "holder", Generation: 1, Lease: time.Hour, Grace: time.Minute})
	if failed = errors.Join(failed, err); failed == nil {
		_, failed = r.auth.BeginEffect(ctx, ref, lifecycle.EffectRequest{Visit: task.Visit, Name: "pay", Policy: lifecycle.PolicyRetry, RequestDigest: lifecycle.DigestBytes(name), Holder: "holder", Fence: task.Fence, CallUntil: r.clock.Now().Add(time.Minute)})
	}
	do(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Chunk: &lifecycle.Chunk{Artifact: "report", Last: true, Part: a2a.NewTextPart(string(name)), Bytes: int64(len(name)), Checksum: lifecycle.DigestBytes(name)}}}})
	if completes {
		do(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says(a2a.MessageRoleAgent)})
	}
	return ref, errors.Join(failed, r.blobs.Put(ctx, ref, lifecycle.DigestBytes(name), name),
		r.book.Reject(ctx, ref, ledger.Rejected{At: r.clock.Now(), Producer: "client", Reason: lifecycle.IllegalTransition}))
}

// lives makes so many, side by side.
func (r *retained) lives(n int, completes bool) []lifecycle.Ref {
	r.Helper()
	refs, errs := make([]lifecycle.Ref, n), make([]error, n)
	next := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range next {
				refs[i], errs[i] = r.life(i, completes)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		r.Fatal(err)
	}
	return refs
}

// rows counts the rows of every table that has any, by a reader of its own.
func (r *retained) rows() map[string]int {
	r.Helper()
	conn, err := sqlite3.OpenFlags(filepath.Join(r.dir, "holdfast.db"), sqlite3.OPEN_READONLY)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	each := func(sql string, scan func(*sqlite3.Stmt)) {
		s, _, err := conn.Prepare(sql)
		if err != nil {
			r.Fatal(err)
		}
		for s.Step() {
			scan(s)
		}
		if err := errors.Join(s.Err(), s.Close()); err != nil {
			r.Fatal(err)
		}
	}
	var tables []string
	each("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('meta', 'totals')", func(s *sqlite3.Stmt) { tables = append(tables, s.ColumnText(0)) })
	out := map[string]int{}
	for _, table := range tables {
		each("SELECT count(*) FROM "+table, func(s *sqlite3.Stmt) {
			if n := s.ColumnInt(0); n > 0 {
				out[table] = n
			}
		})
	}
	return out
}

// files counts the blobs.
func (r *retained) files() int {
	r.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(r.dir, "blobs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// TestRetention: 10,000 tasks expire in a data folder (a tenth in short tests). Every
// row and every blob of them is gone, but the notes of their keys, until those are over
// too; live tasks of the same conversation have what they had. (Case 65.)
func TestRetention(t *testing.T) {
	tasks, alive := 10_000, 50
	if testing.Short() {
		tasks = 1_000
	}
	r := newRetained(t)
	siblings := r.lives(alive, false)
	before, filesBefore := r.rows(), r.files()
	r.lives(tasks, true)
	full := r.rows()
	t.Logf("%d tasks have ended: %v, %d blobs", tasks, full, r.files())
	purges := &sweep.Purges{
		Purger: &ledger.Purger{Purges: r.book, Blobs: r.blobs, Now: r.clock.Now, KeyNote: lifecycle.DefaultKeyNote},
		Page:   100, Most: 2_000, Beside: 16, Within: time.Minute, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	run := func() (all sweep.Forgotten) {
		t.Helper()
		for {
			f, err := purges.Run(context.WithoutCancel(t.Context()))
			if err != nil || f.Failed+f.Unfinished > 0 {
				t.Fatalf("%+v, %v", f, err)
			}
			all.Purged, all.Records, all.Keys = all.Purged+f.Purged, all.Records+f.Records, all.Keys+f.Keys
			if f.Looked+f.Keys == 0 {
				return all
			}
		}
	}
	r.clock.Advance(lifecycle.DefaultRetention - time.Second)
	if f := run(); f != (sweep.Forgotten{}) || len(full) != len(r.rows()) {
		t.Errorf("before they expire: %+v", f)
	}
	r.clock.Advance(time.Second)
	began := time.Now()
	f := run()
	t.Logf("%d tasks purged, %d records, in %s", f.Purged, f.Records, time.Since(began).Round(time.Millisecond))
	after := r.rows()
	if before["keys"] += tasks; f.Purged != tasks || fmt.Sprint(after) != fmt.Sprint(before) || r.files() != filesBefore {
		t.Errorf("left are %v and %d blobs, want %v and %d", after, r.files(), before, filesBefore)
	}
	r.clock.Advance(lifecycle.DefaultKeyNote)
	f = run()
	t.Logf("%d notes of keys forgotten; left are %v of %d live tasks", f.Keys, r.rows(), alive)
	if before["keys"] -= tasks; f.Keys != tasks || fmt.Sprint(r.rows()) != fmt.Sprint(before) {
		t.Errorf("%d notes were forgotten, left are %v, want %v", f.Keys, r.rows(), before)
	}
	for _, ref := range siblings {
		entries, err := r.book.Entries(t.Context(), ref, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if folded, err := lifecycle.Fold(ref, entries); err != nil || folded.Terminal() || !strings.HasPrefix(ref.Tenant, "tenant-") {
			t.Errorf("I1: a live sibling folds to %s, %v", folded.State, err)
		}
		if _, err := r.blobs.Get(t.Context(), ref, lifecycle.DigestBytes([]byte(ref.Task))); err != nil && len(entries) > 1 {
			t.Errorf("a live sibling's blob: %v", err)
		}
	}
}
