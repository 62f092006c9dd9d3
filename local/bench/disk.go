package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// disk measures how often the disk confirms 4 KiB.
func disk(_ context.Context, dir string, p plan, f *figures) error {
	file, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	block := make([]byte, 4096)
	began, n := time.Now(), 0
	for time.Since(began) < p.probe {
		if _, err := file.WriteAt(block, 0); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		n++
	}
	f.DiskFsyncs = float64(n) / time.Since(began).Seconds()
	return nil
}

// rawAppends measures the ledger by itself: 32 writers that commit one entry of
// 512 bytes and a head, with no rules, no runner and no HTTP.
func rawAppends(ctx context.Context, dir string, p plan, f *figures) error {
	book, err := sqlite.Open(filepath.Join(dir, "raw"), sqlite.Options{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var done atomic.Int64
	began := time.Now()
	var writers sync.WaitGroup
	failed := make(chan error, 32)
	for range 32 {
		writers.Go(func() {
			if err := appends(ctx, book, began.Add(p.probe), &done); err != nil {
				failed <- err
			}
		})
	}
	writers.Wait()
	f.RawAppends = float64(done.Load()) / time.Since(began).Seconds()
	select {
	case err := <-failed:
		return fmt.Errorf("raw appends: %w", err)
	default:
		return book.Close()
	}
}

func appends(ctx context.Context, book *sqlite.Ledger, until time.Time, done *atomic.Int64) error {
	head := lifecycle.Head{Tenant: "bench", Task: a2a.TaskID(newID()), State: lifecycle.Working, DueAt: until, AcceptedAt: until, StatusAt: until, LifeEndsAt: until}
	head, entry := extend(head)
	if err := book.Create(ctx, ledger.Creation{Head: head, Entries: []lifecycle.Entry{entry}}); err != nil {
		return err
	}
	for time.Now().Before(until) {
		next, entry := extend(head)
		if err := book.Commit(ctx, ledger.Commit{Seen: head, Head: next, Entries: []lifecycle.Entry{entry}}); err != nil {
			return err
		}
		head = next
		done.Add(1)
	}
	return nil
}

// payload is about what a step commits.
var payload = json.RawMessage(fmt.Sprintf(`{"checkpoint":{"state":{"note":%q},"step":"next","visit":2}}`, make([]byte, 90)))

func extend(h lifecycle.Head) (lifecycle.Head, lifecycle.Entry) {
	h.Seq++
	var e lifecycle.Entry
	e.Task, e.Seq, e.Type, e.TypeVersion, e.Payload = h.Task, h.Seq, lifecycle.TypeCheckpoint, 1, payload
	e.PayloadDigest, e.Chain, e.OpID, e.AcceptedAt = lifecycle.DigestBytes(payload), h.Chain, newID(), time.Now()
	return h, e
}
