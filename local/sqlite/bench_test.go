package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The benchmarks measure the ledger alone: heads and entries of the agreed size
// that no rule has decided on. Each writer runs tasks of eight commits.
const (
	benchWriters = 32
	benchCommits = 8
	benchPayload = 512
	benchHead    = 1 << 10
)

var benchAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// benchTask is a submitted task with a head of about 1 KB.
func benchTask(ref lifecycle.Ref) ledger.Creation {
	h := lifecycle.Head{
		Tenant: ref.Tenant, Task: ref.Task, ContextID: string(ref.Task), Agent: "bench", AgentVersion: 1,
		State: lifecycle.Working, StatusAt: benchAt, AcceptedAt: benchAt, LifeEndsAt: benchAt.Add(lifecycle.DefaultLife),
		Seq: 1, Chain: lifecycle.DigestBytes(nil), Step: "step", Visit: 1, Holder: "holder", Fence: 1, LeaseUntil: benchAt.Add(time.Minute),
		Generation: 1, DueAt: benchAt.Add(time.Hour), Op: "op-1",
	}
	encoded, err := encodeHead(h)
	if err != nil {
		return ledger.Creation{}
	}
	h.Principal = strings.Repeat("p", benchHead-len(encoded)-len(`"pr":"",`))
	return ledger.Creation{Head: h, Entries: []lifecycle.Entry{benchEntry(ref.Task, 1)}}
}

func benchEntry(task a2a.TaskID, seq uint64) lifecycle.Entry {
	payload := []byte(`{"text":"` + strings.Repeat("x", benchPayload-len(`{"text":""}`)) + `"}`)
	return lifecycle.Entry{
		Task: task, Seq: seq, Type: lifecycle.TypeCheckpoint, TypeVersion: 1, Payload: payload, PayloadDigest: lifecycle.DigestBytes(payload),
		Chain: lifecycle.DigestBytes(payload), Producer: "runner", EventID: fmt.Sprintf("op-%d.1", seq), ObservedAt: benchAt, AcceptedAt: benchAt,
		Holder: "holder", Fence: 1, OpID: fmt.Sprintf("op-%d", seq),
	}
}

// benchNext is a commit of one entry.
func benchNext(seen lifecycle.Head) ledger.Commit {
	next := seen
	next.Seq, next.Visit = seen.Seq+1, seen.Visit+1
	next.Op = fmt.Sprintf("op-%d", next.Seq)
	return ledger.Commit{Seen: seen, Head: next, Entries: []lifecycle.Entry{benchEntry(seen.Task, next.Seq)}}
}

// benchWriter commits until told to stop, and notes how long each commit took.
func benchWriter(ctx context.Context, l *Ledger, next func() bool) (took []time.Duration, err error) {
	for {
		c := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
		seen := c.Head
		for i := range benchCommits {
			if !next() {
				return took, nil
			}
			began := time.Now()
			if i == 0 {
				err = l.Create(ctx, c)
			} else {
				commit := benchNext(seen)
				err = l.Commit(ctx, commit)
				seen = commit.Head
			}
			if err != nil {
				return took, err
			}
			took = append(took, time.Since(began))
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, o := range []Options{{}, {NoSync: true}} {
		b.Run(fmt.Sprintf("writers=%d/synchronous=%s", benchWriters, o.synchronous()), func(b *testing.B) {
			l := open(b, b.TempDir(), o)
			var mu sync.Mutex
			var all []time.Duration
			left := b.N
			next := func() bool {
				mu.Lock()
				defer mu.Unlock()
				left--
				return left >= 0
			}
			var writers sync.WaitGroup
			b.ResetTimer()
			for range benchWriters {
				writers.Go(func() {
					took, err := benchWriter(b.Context(), l, next)
					if err != nil {
						b.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, took...)
				})
			}
			writers.Wait()
			b.StopTimer()
			slices.Sort(all)
			s := l.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
			b.ReportMetric(float64(s.Commits)/float64(s.Batches), "commits/sync")
			b.ReportMetric(float64(s.Checkpoints), "checkpoints")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "max-ms")
		})
	}
}
