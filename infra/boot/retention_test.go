package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

// Retention, on the stage of stage_test.go: the stream function is given records of TTL
// as Lambda hands them on (infra/dynamo/testdata), and the sweep runs by fake time.
// Nothing here sends such records by itself, and neither does any server that these
// tests know: on AWS it is DynamoDB.

const recordedTask = "T#acme-production#01a229cd-3a05-7815-976c-eb50cd4afa28"

// removal is a record of a task's expiry marker being removed: by TTL (expired.json), or
// by a purge or somebody else (purged.json).
func (s *stage) removal(file string, ref lifecycle.Ref) json.RawMessage {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "dynamo", "testdata", file))
	if err != nil {
		s.t.Fatal(err)
	}
	var batch Batch
	if err := json.Unmarshal(raw, &batch); err != nil || len(batch.Records) == 0 {
		s.t.Fatalf("%s: %d records, %v", file, len(batch.Records), err)
	}
	return json.RawMessage(bytes.ReplaceAll(batch.Records[0], []byte(recordedTask), []byte("T#"+ref.Tenant+"#"+string(ref.Task))))
}

// ended is a task that is canceled at once, under a key of its own, with a blob.
func (s *stage) ended(name string) lifecycle.Ref {
	s.t.Helper()
	ref := s.lives(name)
	t, err := s.auth.Load(s.t.Context(), ref)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.auth.Do(s.t.Context(), t, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"}, ledger.Extra{}); err != nil {
		s.t.Fatal(err)
	}
	return ref
}

// lives is a task of the same conversation that has not ended.
func (s *stage) lives(name string) lifecycle.Ref {
	s.t.Helper()
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	_, err := s.auth.Create(s.t.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Principal: "p",
		RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, keyOf(name))
	if err == nil {
		err = s.blobs.Put(s.t.Context(), ref, lifecycle.DigestBytes([]byte(name)), []byte(name))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.taken() // entries are not what these tests are about
	return ref
}

func keyOf(name string) *ledger.Key {
	return &ledger.Key{Tenant: "tenant", Hash: lifecycle.DigestBytes([]byte(name))}
}

// wantLeft counts what the ledger has: tasks that have ended, each with three entries,
// tasks that live, each with one, and submission keys.
func (s *stage) wantLeft(what string, ended, alive, keys int) {
	s.t.Helper()
	left, purges, notes, entries := s.memory.Left()
	if left != ended+alive || purges != 0 || notes != keys || entries != 3*ended+alive {
		s.t.Errorf("%s: %d tasks with %d entries, %d purges and %d keys are left, want %d that have ended, %d that live and %d keys", what, left, entries, purges, notes, ended, alive, keys)
	}
}

// forget is the sweep's part.
func (s *stage) forget(want sweep.Forgotten) {
	s.t.Helper()
	got, err := s.purges.Run(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if got.Records, got.Keys = 0, 0; got != want {
		s.t.Errorf("the sweep did %+v, want %+v", got, want)
	}
}

// Case 65: 10,000 tasks expire. TTL comes up to two days late, out of order, twice, and
// of every tenth it is lost; the sweep finds those. Nothing is left but the notes of
// their keys, until their time is over as well; live tasks of the same conversation are
// untouched.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, alive = 10_000, 10
		s := newStage(t)
		var refs []lifecycle.Ref
		var siblings []lifecycle.Ref
		for i := range tasks {
			refs = append(refs, s.ended(name(i)))
			if i%(tasks/alive) == 0 {
				siblings = append(siblings, s.lives("sibling "+name(i)))
			}
		}
		before := s.pictures(siblings)
		pass(lifecycle.DefaultRetention - time.Hour)
		s.batch(s.removal("expired.json", refs[0])) // a clock that is fast
		s.forget(sweep.Forgotten{})
		s.wantLeft("before they expire", tasks, alive, tasks+alive)
		pass(2 * time.Hour)
		s.forget(sweep.Forgotten{}) // TTL comes first
		s.batch(s.removal("purged.json", refs[0]))
		s.wantLeft("after markers were removed by somebody", tasks, alive, tasks+alive)

		told, lost := 0, 0
		var records []json.RawMessage
		for i, ref := range refs {
			if i%10 == 7 {
				lost++
				continue
			}
			told++
			records = append(records, s.removal("expired.json", ref))
		}
		slices.Reverse(records)
		for batch := range slices.Chunk(records, 100) {
			pass(time.Minute)
			s.batch(batch...)
		}
		s.wantLeft("after TTL", lost, alive, tasks+alive)
		s.batch(records[:100]...) // and again
		s.wantLeft("after TTL came twice", lost, alive, tasks+alive)
		pass(ttlPatience)
		s.forget(sweep.Forgotten{Looked: lost, Purged: lost})
		s.forget(sweep.Forgotten{})
		s.batch(s.removal("expired.json", refs[7])) // what was lost comes after all
		s.wantLeft("after the sweep", 0, alive, tasks+alive)
		t.Logf("%d tasks expired: %d were purged by TTL's records, %d by the sweep; %d notes and %d live tasks are left", tasks, told, lost, tasks, alive)
		for i, after := range s.pictures(siblings) {
			if after != before[i] {
				t.Errorf("a live sibling was\n%s\nand is\n%s", before[i], after)
			}
		}
		for i, ref := range refs {
			if _, err := s.blobs.Get(t.Context(), ref, lifecycle.DigestBytes([]byte(name(i)))); err == nil {
				t.Fatalf("a blob of task %d is left", i)
			}
		}

		pass(lifecycle.DefaultKeyNote)
		for {
			n, err := s.memory.ForgetKeys(t.Context(), time.Now(), 1000) // TTL's part
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		s.wantLeft("when the keys are forgotten", 0, alive, alive)
	})
}

func name(i int) string { return "task " + string(rune('a'+i%26)) + " " + time.Duration(i).String() }

// pictures are everything that is kept of tasks, as text.
func (s *stage) pictures(refs []lifecycle.Ref) []string {
	s.t.Helper()
	out := make([]string, len(refs))
	for i, ref := range refs {
		head, err := s.memory.Head(s.t.Context(), ref)
		if err != nil {
			s.t.Fatal(err)
		}
		entries, err := s.memory.Entries(s.t.Context(), ref, 0, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := json.Marshal([]any{head, entries})
		if err != nil {
			s.t.Fatal(err)
		}
		out[i] = string(text)
	}
	return out
}

// The stream function is off, for two days and more: the sweep alone forgets, and the
// records that come when it is back find nothing. (Case 67.)
func TestRetentionWithoutTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ref := s.ended("a")
		pass(lifecycle.DefaultRetention + ttlPatience - time.Millisecond)
		s.forget(sweep.Forgotten{})
		pass(time.Second)
		s.forget(sweep.Forgotten{Looked: 1, Purged: 1})
		s.batch(s.removal("expired.json", ref))
		s.wantLeft("after both", 0, 0, 1)
	})
}

// A purge that takes too long for a batch is broken off, so that no record behind it
// waits, and is the sweep's to end. Records are never sent again for it. (Case 68.)
func TestPurgeHoldsUpNoRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ref := s.ended("a")
		slow := &slowPurges{Purges: s.memory}
		s.purges = process{logger: s.purges.Logger, now: time.Now}.purges(slow, s.blobs, 1000)
		pass(lifecycle.DefaultRetention)
		began := time.Now()
		s.batch(s.removal("expired.json", ref))
		if took := time.Since(began); took != purgeBudget {
			t.Errorf("a batch took %s, want the budget of %s", took, purgeBudget)
		}
		if log := s.logs.String(); !strings.Contains(log, `"unfinished":1`) {
			t.Errorf("the log has %s", log)
		}
		slow.quick = true
		pass(ttlPatience)
		s.forget(sweep.Forgotten{Looked: 1, Purged: 1})
		s.wantLeft("after the sweep", 0, 0, 1)
	})
}

// slowPurges take for ever to remove a piece.
type slowPurges struct {
	ledger.Purges

	quick bool
}

func (s *slowPurges) PurgePiece(ctx context.Context, ref lifecycle.Ref) (int, bool, error) {
	if s.quick {
		return s.Purges.PurgePiece(ctx, ref)
	}
	<-ctx.Done()
	return 0, true, ctx.Err()
}
