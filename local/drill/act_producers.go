package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// playProducers lets two producers work on one task at once. Each has an artifact of
// its own, and both write into a third one. Who has not the lease is refused, and
// tries again.
func (d *drill) playProducers(ctx context.Context) (string, error) {
	first, err := d.worker(ctx, "two producers")
	if err != nil {
		return "", err
	}
	second := &worker{door: first.door, producer: "w2", task: first.task}
	opening := &worker{door: first.door, producer: "w0", task: first.task}
	if err := opening.claim(ctx); err != nil {
		return "", err
	}
	shared := chunked(chunkOf("shared", "begin\n", false, false), chunkOf("w1", "begin\n", false, false), chunkOf("w2", "begin\n", false, false))
	if _, err := opening.report(ctx, event{"begin", 1, opening.fence, shared}); err != nil {
		return "", err
	}
	if err := opening.release(ctx); err != nil {
		return "", err
	}
	pens := []*pen{{worker: first}, {worker: second}}
	if err := atOnce(ctx, len(pens), func(ctx context.Context, i int) error { return pens[i].write(ctx) }); err != nil {
		return "", err
	}
	if err := first.claim(ctx); err != nil {
		return "", err
	}
	sealed := chunked(chunkOf("shared", "end\n", true, true), chunkOf("w1", "end\n", true, true), chunkOf("w2", "end\n", true, true))
	for _, e := range []event{
		{"seal", chunksEach + 1, first.fence, sealed}, {"end", chunksEach + 2, first.fence, object{"kind": "complete", "text": "Written by two."}},
	} {
		if _, err := first.report(ctx, e); err != nil {
			return "", err
		}
	}
	if err := inLanes(ctx, pipelines, d.pipelined); err != nil {
		return "", err
	}
	whole, err := d.checkProducers(ctx, first)
	if err != nil {
		return "", err
	}
	d.rest(first.door, first.task, whole.Head)
	held, stale, gaps := 0, 0, 0
	for _, p := range pens {
		held, stale, gaps = held+p.held, stale+p.stale, gaps+p.gaps
	}
	if held+stale == 0 {
		return "", errors.New("the producers never met")
	}
	d.note("%d chunks of two producers", 4*chunksEach)
	return fmt.Sprintf("%d chunks in 3 artifacts, each once and in its producer's order; fence %d; %d claims met the other's lease, %d reports a lost fence, %d came before their turn; %d times last chunk and completion at once",
		4*chunksEach, whole.Head.Fence, held, stale, gaps, pipelines), nil
}

// pen is a producer who writes.
type pen struct {
	*worker

	held, stale, gaps int
}

// write reports all chunks, in turns: claim, report a few at once, release.
func (p *pen) write(ctx context.Context) error {
	for number := 1; number <= chunksEach; number += turnChunks {
		if err := p.turn(ctx); err != nil {
			return err
		}
		if err := p.together(ctx, number); err != nil {
			return err
		}
		// The other one may have the lease as soon as this one is free.
		fence := p.fence
		if err := p.release(ctx); err != nil {
			return err
		}
		a, err := p.send(ctx, event{fmt.Sprintf("stray-%d", number), uint64(number + turnChunks), fence, p.chunk(number + turnChunks)})
		if err != nil {
			return err
		}
		if err := a.RefusedFor("a report after the release", fenceLost); err != nil {
			return err
		}
		p.stale++
	}
	return nil
}

// turn claims the task, over and over until the other one is done.
func (p *pen) turn(ctx context.Context) error {
	for {
		a, err := p.send(ctx, p.claiming())
		if err != nil {
			return err
		}
		if a.Reason() != leaseHeld {
			var got taken
			if err := a.Decode(&got); err != nil {
				return fmt.Errorf("%s claims: %w", p.producer, err)
			}
			p.fence = got.Fence
			return nil
		}
		p.held++
		if err := driver.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// together sends a few reports at once, each twice and until it was taken in its
// place.
func (p *pen) together(ctx context.Context, number int) error {
	early := make([]int, 2*turnChunks)
	err := atOnce(ctx, len(early), func(ctx context.Context, i int) (err error) {
		n := number + i%turnChunks
		early[i], err = p.insist(ctx, event{fmt.Sprintf("%s-%d", p.producer, n), uint64(n), p.fence, p.chunk(n)})
		return err
	})
	for _, n := range early {
		p.gaps += n
	}
	return err
}

// chunk is a piece of the producer's own artifact and one of the shared one.
func (p *pen) chunk(n int) object {
	text := lineBy(p.producer, n)
	return chunked(chunkOf(p.producer, text, true, false), chunkOf("shared", text, true, false))
}

func lineBy(producer string, n int) string { return fmt.Sprintf("%s writes line %d\n", producer, n) }

// release gives the lease back.
func (w *worker) release(ctx context.Context) error {
	_, err := w.report(ctx, event{id: fmt.Sprintf("release-%d", w.fence), fence: w.fence, payload: object{"kind": "release"}})
	return err
}

// checkProducers wants every chunk once and in its producer's order, and fences that
// rise, each of one producer.
func (d *drill) checkProducers(ctx context.Context, w *worker) (page, error) {
	p, whole, err := pictureOf(ctx, w.door, w.task)
	if err != nil {
		return whole, err
	}
	if c := whole.Head.Counts; p.State != stateCompleted || c.Incidents != 0 {
		return whole, fmt.Errorf("the task is %s with %+v", p.State, c)
	}
	holder := map[uint64]string{}
	last := map[string]uint64{}
	fence := uint64(0)
	for _, e := range whole.Entries {
		if e.SourceSeq == 0 {
			continue
		}
		if e.Fence < fence || holder[e.Fence] != "" && holder[e.Fence] != e.Producer {
			return whole, fmt.Errorf("entry %d of %s has fence %d after %d of %s", e.Seq, e.Producer, e.Fence, fence, holder[e.Fence])
		}
		fence, holder[e.Fence] = e.Fence, e.Producer
		if e.SourceSeq != last[e.Producer] && e.SourceSeq != last[e.Producer]+1 { // a report has an entry for each chunk
			return whole, fmt.Errorf("entry %d of %s has the number %d after %d", e.Seq, e.Producer, e.SourceSeq, last[e.Producer])
		}
		last[e.Producer] = e.SourceSeq
	}
	together := 0
	for _, name := range []string{"shared", "w1", "w2"} {
		got, err := w.artifact(ctx, w.task, name, 0)
		if err != nil {
			return whole, err
		}
		want := chunksEach + 2
		if name == "shared" {
			want = 2*chunksEach + 2
		}
		if len(got.Chunks) != want || got.Revision != 1 || !got.Sealed {
			return whole, fmt.Errorf("artifact %s has %d chunks in revision %d, sealed %t; want %d", name, len(got.Chunks), got.Revision, got.Sealed, want)
		}
		next := map[string]int{"w1": 1, "w2": 1}
		for i, c := range got.Chunks[1 : want-1] {
			producer, _, _ := strings.Cut(c.Part.Text, " ")
			if c.Number != i+2 || c.Part.Text != lineBy(producer, next[producer]) || c.Checksum != digestOf([]byte(c.Part.Text)) {
				return whole, fmt.Errorf("chunk %d of %s is %q, want line %d of %s", c.Number, name, c.Part.Text, next[producer], producer)
			}
			next[producer]++
			together++
		}
	}
	if together != 4*chunksEach {
		return whole, fmt.Errorf("%d chunks of %d", together, 4*chunksEach)
	}
	return whole, nil
}
