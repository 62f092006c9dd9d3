package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// BenchmarkCommit reports how many commits shared a sync of the disk, so that
// the figure can be held against what the disk can do (BenchmarkSync).
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct {
		writers int
		options Options
	}{{1, Options{}}, {32, Options{}}, {128, Options{}}, {32, Options{NoSync: true}}} {
		b.Run(fmt.Sprintf("writers=%d/synchronous=%s", c.writers, c.options.synchronous()), func(b *testing.B) {
			l := open(b, b.TempDir(), c.options)
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
			for range c.writers {
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

// BenchmarkSync is what the disk can do: writes of one page, each synced, over
// bytes that are there already.
func BenchmarkSync(b *testing.B) {
	const page, pages = 4096, 1000
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, page*pages)); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, page)
	for i := 0; b.Loop(); i++ {
		if _, err := f.WriteAt(buf, int64(i%pages)*page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
}

// BenchmarkOpen opens a ledger after a crash: the log is full, and the file is
// as large as the check of every page allows, or larger.
func BenchmarkOpen(b *testing.B) {
	for _, commits := range []int{1_000, 20_000, 100_000} {
		b.Run(fmt.Sprintf("commits=%d", commits), func(b *testing.B) {
			dir := b.TempDir()
			l := open(b, dir, Options{NoSync: true})
			left := commits
			if _, err := benchWriter(b.Context(), l, func() bool { left--; return left >= 0 }); err != nil {
				b.Fatal(err)
			}
			crashed := contents(b, dir)
			delete(crashed, fileName+"-shm")
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				lay(b, dir, crashed)
				b.StartTimer()
				l, err := Open(dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Create(b.Context(), benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(len(crashed[fileName])>>20), "MiB-file")
			b.ReportMetric(float64(len(crashed[logName])>>20), "MiB-log")
		})
	}
}
