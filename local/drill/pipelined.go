package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// pipelined lets a worker send its chunks and its completion at once, without waiting
// for answers. What comes before its turn is told so and comes again; nothing else may
// be said of any of them.
func (d *drill) pipelined(ctx context.Context, i int) error {
	w, err := d.worker(ctx, fmt.Sprintf("pipelined %d", i))
	if err != nil {
		return err
	}
	if err := w.claim(ctx); err != nil {
		return err
	}
	reports := []event{
		{"1", 1, w.fence, chunked(chunkOf(draft, draftBefore, false, false))},
		{"2", 2, w.fence, chunked(chunkOf(draft, draftMiddle, true, false))},
		{"3", 3, w.fence, chunked(chunkOf(draft, draftLast, true, true))},
		{"4", 4, w.fence, object{"kind": "complete", "text": "Done."}},
	}
	if err := atOnce(ctx, len(reports), func(ctx context.Context, i int) error {
		_, err := w.insist(ctx, reports[i])
		return err
	}); err != nil {
		return fmt.Errorf("pipelined, task %s: %w", w.task, err)
	}
	p, whole, err := pictureOf(ctx, w.door, w.task)
	if err == nil && (p.State != stateCompleted || kinds(whole, "chunk") != 3) {
		err = fmt.Errorf("pipelined, task %s is %s with %d chunks", w.task, p.State, kinds(whole, "chunk"))
	}
	if err != nil {
		return err
	}
	d.rest(w.door, w.task, whole.Head)
	return nil
}

// insist sends an event until it was taken in its turn, and counts how often it came
// before that.
func (w *worker) insist(ctx context.Context, e event) (early int, err error) {
	for {
		a, err := w.send(ctx, e)
		if err != nil {
			return early, err
		}
		if a.Status == http.StatusOK {
			return early, nil
		}
		if a.Reason() != sequenceGap {
			return early, fmt.Errorf("event %s: %s", e.id, a)
		}
		early++
		if err := driver.Pause(ctx, time.Millisecond); err != nil {
			return early, err
		}
	}
}

// atOnce does something so many times at once. When one fails the others, which may
// wait for it, are ended.
func atOnce(ctx context.Context, times int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
