package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// playCancellation lets a cancellation meet a worker that is about to complete, five
// hundred times: with its claim, with its last chunk, with its completion.
func (d *drill) playCancellation(ctx context.Context) (string, error) {
	seed := rand.Uint64()
	var completed, canceled, late atomic.Int64
	err := inLanes(ctx, cancelRounds, func(ctx context.Context, i int) error {
		r := &race{rand: rand.New(rand.NewPCG(seed, uint64(i))), meet: i % 3}
		var err error
		if r.worker, err = d.worker(ctx, fmt.Sprintf("race %d", i)); err != nil {
			return err
		}
		h, err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("round %d of seed %d, met at %d: %w", i, seed, r.meet, err)
		}
		if h.State == stateCompleted {
			completed.Add(1)
		} else {
			canceled.Add(1)
		}
		late.Add(int64(h.Counts.Quarantined))
		d.rest(r.worker.door, r.worker.task, h)
		return nil
	})
	if err != nil {
		return "", err
	}
	figures := fmt.Sprintf("%d completed, %d canceled", completed.Load(), canceled.Load())
	if least := int64(cancelRounds * leastShare / 100); completed.Load() < least || canceled.Load() < least {
		return "", fmt.Errorf("%s of %d: each is to have %d %%, or they did not race", figures, cancelRounds, leastShare)
	}
	d.note("%d cancellations against completion (%s)", cancelRounds, figures)
	return fmt.Sprintf("%d rounds, %s, one end each and everybody was told the same; %d late pieces of output quarantined", cancelRounds, figures, late.Load()), nil
}

// race is one round.
type race struct {
	*worker

	rand *rand.Rand
	meet int // which of the worker's steps the cancellation meets
}

// run plays the round and gives the head of the task that came of it.
func (r *race) run(ctx context.Context) (head, error) {
	type asked struct {
		answer

		err error
	}
	canceler := make(chan asked, 1)
	steps := []event{
		r.claiming(),
		{"chunk", 1, 1, chunked(chunkOf(draft, draftLast, false, true))},
		{"end", 2, 1, object{"kind": "complete", "text": "Done."}},
	}
	var last answer
	settled := false
	for i, e := range steps {
		if i == r.meet {
			delay := time.Duration(r.rand.IntN(longestDelay(i))) * time.Microsecond
			go func() {
				timer := time.NewTimer(delay)
				defer timer.Stop()
				<-timer.C
				a, err := r.cancel(ctx, r.task)
				canceler <- asked{a, err}
			}()
		}
		if settled {
			continue
		}
		var err error
		if last, err = r.send(ctx, e); err != nil {
			return head{}, err
		}
		switch last.Reason() {
		case "":
		case cancelRequested: // in place of the step
			ack := event{"ack", e.seq, 1, object{"kind": "cancel"}}
			if last, err = r.send(ctx, ack); err != nil {
				return head{}, err
			}
			settled = true
		case postTerminal:
			settled = true
		default:
			return head{}, fmt.Errorf("step %d: %s", i, last)
		}
	}
	told := <-canceler
	if told.err != nil {
		return head{}, told.err
	}
	return r.settle(ctx, settled, last, told.answer)
}

// longestDelay is how many microseconds a cancellation waits at most. With the claim it
// comes soon, so that some come before anybody works.
func longestDelay(meet int) int {
	if meet == 0 {
		return 250
	}
	return 1500
}

// settle holds what worker and canceler were told against the ledger, and lets both
// try once more.
func (r *race) settle(ctx context.Context, stopped bool, last, told answer) (head, error) {
	p, whole, err := pictureOf(ctx, r.door, r.task)
	if err != nil {
		return head{}, err
	}
	if n := kinds(whole, "ended"); n != 1 {
		return head{}, fmt.Errorf("the task ended %d times", n)
	}
	var t task
	switch {
	case p.State == stateCompleted && !stopped && last.Status == http.StatusOK && told.Reason() == notCancelable:
	case p.State == stateCanceled && stopped && told.Decode(&t) == nil && t.Status.State == stateCanceled:
	default:
		return head{}, fmt.Errorf("the task is %s; the worker was told %s, the canceler %s", p.State, last, told)
	}
	if err := r.refused(ctx, event{"late", 3, 1, chunked(chunkOf("late", "late\n", false, true))}, postTerminal); err != nil {
		return head{}, err
	}
	if told, err = r.cancel(ctx, r.task); err != nil {
		return head{}, err
	}
	if (p.State == stateCanceled) != (told.Status == http.StatusOK) {
		return head{}, fmt.Errorf("a task that is %s was canceled again: %s", p.State, told)
	}
	q, now, err := pictureOf(ctx, r.door, r.task)
	if err != nil {
		return head{}, err
	}
	if diff := p.differs(q); diff != "" || now.Head.Chain != whole.Head.Chain {
		return head{}, errors.New("it was changed by what came late: " + diff)
	}
	if n := now.Head.Counts.Quarantined; (p.State == stateCanceled) != (n > 0) {
		return head{}, fmt.Errorf("the task is %s and %d pieces of output are quarantined", p.State, n)
	}
	return now.Head, nil
}
